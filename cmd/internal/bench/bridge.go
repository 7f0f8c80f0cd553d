package bench

import (
	"fmt"
	"strings"
)

// startBridge joins the network's ports by a Linux bridge.
func (n *network) startBridge() error {
	var s strings.Builder
	s.WriteString("link add br0 type bridge\n")
	for i := range n.hosts {
		fmt.Fprintf(&s, "link set p%d master br0\n", i+1)
	}
	s.WriteString("link set br0 up\n")
	if _, err := n.b.doWith("", s.String(), "ip", "-n", n.sw.namespace, "-batch", "-"); err != nil {
		return err
	}
	for i := 1; i < len(n.hosts); i += 2 { // hosts of even number receive
		if _, err := n.b.do("", "bridge", "-n", n.sw.namespace, "fdb", "add", mac(i+1), "dev", fmt.Sprintf("p%d", i+1), "master", "static"); err != nil {
			return err
		}
	}
	return nil
}
