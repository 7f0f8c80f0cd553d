package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// ipv6Off keeps the kernel of the calling thread's namespace from sending neighbour and multicast messages
// of its own over the lab's links, which would blur every counter.
func ipv6Off() error {
	for _, which := range []string{"all", "default"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6 is as good
			return fmt.Errorf("switch IPv6 off: %w (/proc/sys must be writable: in a container, run it privileged)", err)
		}
	}
	return nil
}

// inOwnUserNamespace says whether the process is root of nothing but itself, as Enter makes it: then its
// user is the only one that its user namespace knows.
func inOwnUserNamespace() bool {
	b, err := os.ReadFile("/proc/self/uid_map") // inside, outside, how many
	f := strings.Fields(string(b))
	return err == nil && len(f) == 3 && f[0] == "0" && f[2] == "1"
}
