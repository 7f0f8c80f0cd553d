package daemon

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
)

// nic gives host n a host NIC on its eth0: a TAP nic0 with the host's address. It ends with the test.
func (r *rig) nic(n int, speed string) *Daemon {
	r.t.Helper()
	return r.nicTrusting(n, speed, "dscp")
}

// nicTrusting gives it one that finds a frame's priority in another place.
func (r *rig) nicTrusting(n int, speed, trust string) *Daemon {
	r.t.Helper()
	c, _, err := config.Parse("nic.yaml", fmt.Appendf(nil, `
name: nic%[1]d
metrics: {listen: off}
api: {socket: %[2]s/nic%[1]d.sock}
priorities: {lossless: [3], trust: %[6]s, dscp: {26: 3}}
ports:
  wire: {interface: eth0, netns: %[3]s, %[4]s}
  host: {kind: tap, interface: nic0, netns: %[3]s, wire: wire, addresses: [%[5]s/24]}
`, n, r.dir, r.host(n).Path(), speed, hostIP(n), trust))
	must(r.t, err)
	d, _ := run(r.t, c)
	return d
}

// nicPort returns the state of a port of a host NIC: "host" or "wire".
func nicPort(t *testing.T, d *Daemon, name string) dataplane.PortSnapshot {
	t.Helper()
	var s dataplane.Snapshot
	d.runner.Snapshot(&s)
	i := slices.IndexFunc(s.Ports, func(p dataplane.PortSnapshot) bool { return p.Config.Name == name })
	if i < 0 {
		t.Fatalf("there is no port %s", name)
	}
	return s.Ports[i]
}

// nicUp tells whether both ends of a host NIC work.
func nicUp(d *Daemon) bool {
	var s dataplane.Snapshot
	d.runner.Snapshot(&s)
	for _, p := range s.Ports {
		if !p.Up {
			return false
		}
	}
	return len(s.Ports) == 2
}

// Three hosts send to one through the switch, each with a host NIC and the TCP of its own kernel. In the lossless class
// nothing is lost and no segment is sent again; in the lossy class it has to be.
func TestHostNIC(t *testing.T) {
	r := newRig(t, 4, lab.LinkOptions{})
	const speed = "speed: 100M"
	r.start(setup{keys: "priorities: {lossless: [3], trust: dscp, dscp: {26: 3}}\nbuffer: {lossy: {size: 256KiB}, " +
		"policy: static, xoff: 16KiB, xon: 8KiB}", each: speed + ", loop: off, ring: {outage: 200ms}"})
	var nics []*Daemon
	for n := range r.hosts {
		nics = append(nics, r.nic(n+1, speed))
	}
	for _, d := range nics {
		eventually(t, "the host NIC is up", func() bool { return nicUp(d) })
	}
	// each other than its wire's, and other than the next
	for n, want := range map[int]string{1: "02:00:00:70:66:62", 2: "02:00:00:70:66:61"} {
		if got := ip(t, r.host(n), "-o", "link", "show", "dev", "nic0"); !strings.Contains(got, "link/ether "+want) {
			t.Errorf("h%d, whose wire is %s: the TAP is not %s: %s", n, hostMAC(n), want, got)
		}
	}
	t.Run("lossless", func(t *testing.T) {
		if again := incast(t, r, 26); again != 0 {
			t.Errorf("%d segments were sent again", again)
		}
		if n := twice(t, r.host(4)); n != 0 {
			t.Errorf("%d segments came twice", n)
		}
		for n := 1; n <= 3; n++ {
			if r.snapshot(n).ControlSent.XoffSent[3] == 0 {
				t.Errorf("h%d was never held, so nothing is shown", n)
			}
		}
	})
	t.Run("lossy", func(t *testing.T) {
		if again := incast(t, r, 0); again == 0 {
			t.Error("no segment was sent again: nothing was lost, so the lossless run shows nothing")
		}
	})
	r.noLosslessDrops()
}

// twice returns the TCP segments that a host got although it had them.
func twice(t *testing.T, n *lab.Node) (count uint64) {
	t.Helper()
	must(t, n.Do(func() error {
		b, err := os.ReadFile("/proc/thread-self/net/netstat")
		must(t, err)
		lines := strings.Split(string(b), "\n")
		names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
		i := slices.Index(names, "TCPDSACKOldSent")
		if i < 0 {
			return errors.New("the kernel's TCP counters have no TCPDSACKOldSent")
		}
		count, err = strconv.ParseUint(values[i], 10, 64)
		return err
	}))
	return count
}

// incast sends from hosts 1 to 3 to host 4 for two seconds and returns the segments that were sent again.
func incast(t *testing.T, r *rig, dscp int) (again int) {
	var listener *net.TCPListener
	must(t, r.host(4).Do(func() (err error) {
		listener, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: hostIP(4)})
		return err
	}))
	var all sync.WaitGroup
	all.Go(func() { sinkThree(t, listener) })
	var mu sync.Mutex
	for n := 1; n <= 3; n++ {
		all.Go(func() {
			info, octets := pump(t, r.host(n), listener.Addr().(*net.TCPAddr), dscp)
			t.Logf("h%d: %.1f Mbit/s, %d of %d segments sent again", n, float64(octets)*8/2/1e6, info.Total_retrans,
				info.Segs_out)
			mu.Lock()
			defer mu.Unlock()
			again += int(info.Total_retrans)
		})
	}
	all.Wait()
	return again
}

// sinkThree takes three connections and reads them to their ends.
func sinkThree(t *testing.T, l *net.TCPListener) {
	defer l.Close()
	must(t, l.SetDeadline(time.Now().Add(10*time.Second)))
	var all sync.WaitGroup
	for range 3 {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			break
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		all.Go(func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() })
	}
	all.Wait()
}

// pump sends what it can for two seconds.
func pump(t *testing.T, from *lab.Node, to *net.TCPAddr, dscp int) (info *unix.TCPInfo, octets int) {
	var c *net.TCPConn
	must(t, from.Do(func() (err error) {
		c, err = net.DialTCP("tcp4", nil, to)
		return err
	}))
	defer c.Close()
	must(t, onSocket(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, dscp<<2) }))
	b := pattern(64 << 10)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); octets += len(b) {
		if _, err := c.Write(b); err != nil {
			t.Errorf("after %d octets: %v", octets, err)
			break
		}
	}
	return tcpInfo(t, c), octets
}

// A port whose TAP cannot be installed has none.
func TestTAPThatCannotBeInstalled(t *testing.T) {
	r := newRig(t, 1, lab.LinkOptions{})
	d := r.nic(1, "speed: 1G")
	eventually(t, "the host NIC is up", func() bool { return nicUp(d) })
	d.mu.Lock()
	defer d.mu.Unlock()
	cfg := *d.ports["host"].cfg
	cfg.Interface = "nic1"
	p := &portLink{cfg: &cfg, number: dataplane.MaxPorts - 1} // which the switch does not have
	if err := d.openTAP(p); err == nil || p.tap != nil || p.socket != nil {
		t.Errorf("error %v, TAP %v", err, p.tap)
	}
}
