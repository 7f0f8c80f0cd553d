package topology

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// load reads the file of a lab, and returns it or one part of it.
func load(file, part string, scale float64) (*config.Topology, error) {
	t, err := config.LoadScaledTopology(file, scale)
	if err != nil {
		return nil, err
	}
	if err := t.RefuseHalfDuplex(); err != nil {
		return nil, err
	}
	if t, err = t.Part(part); err == nil && part != "" && os.Geteuid() != 0 {
		return nil, errors.New("a part of a lab needs root, because its tunnels leave by this machine's own network: " +
			"use sudo")
	}
	return t, err
}

// partFlag is the flag of a part in a command that a message shows.
func partFlag(part string) string {
	if part == "" {
		return ""
	}
	return "--part " + part + " "
}

// connectParts makes the tunnels to other parts.
func (k *runningLab) connectParts(macs map[string]net.HardwareAddr) error {
	for i := range k.topology.Tunnels {
		l := &k.topology.Tunnels[i]
		if err := k.checkTunnel(l); err != nil {
			return err
		}
		o := lab.TunnelOptions{Local: l.Local, Remote: l.Remote, VNI: l.VNI, Port: config.TunnelPort, MTU: l.MTU}
		if l.End.Interface == "eth0" {
			o.MAC = macs[l.End.Node]
		}
		if err := k.lab.Tunnel(k.nodes[l.End.Node], l.End.Interface, o); err != nil {
			return fmt.Errorf("link %s: %w", l.Link, err)
		}
	}
	return nil
}

// checkTunnel looks whether this is the machine of the part, and whether its path carries the frames of a link.
func (k *runningLab) checkTunnel(l *config.LabTunnel) error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	var own []string
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			own = append(own, n.IP.String())
		}
	}
	if !slices.Contains(own, l.Local.String()) {
		return k.topology.Errorf("parts."+k.state.Part+".address", "this machine has not %v but [%s]: correct it, or "+
			"bring the other part up here", l.Local, strings.Join(own, ", "))
	}
	name, mtu, err := lab.Route(l.Remote)
	if err != nil {
		return k.topology.Errorf("links."+l.Link, "no way to %v: %v: look at ip route get %[1]v", l.Remote, err)
	}
	if least := l.MTU + l.Overhead(); least > mtu {
		return k.topology.Errorf("links."+l.Link+".mtu", "%d octets are %d in a VXLAN tunnel with a VLAN tag, and %s "+
			"to %v carries %d: write mtu: %d here and at the links of all hosts and switches, or raise that of the "+
			"path (ip link set %[3]s mtu %[2]d)", l.MTU, least, name, l.Remote, mtu, mtu-l.Overhead())
	}
	return nil
}
