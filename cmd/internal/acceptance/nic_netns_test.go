package acceptance

import (
	"errors"
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

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// nicPort returns the state of a port of a host NIC: "host" or "wire".
func nicPort(t *testing.T, d Switch, name string) dataplane.PortSnapshot {
	t.Helper()
	var s dataplane.Snapshot
	d.Source().Snapshot(&s)
	i := slices.IndexFunc(s.Ports, func(p dataplane.PortSnapshot) bool { return p.Config.Name == name })
	assert.MustBeTrue(t, i >= 0, "there is no port %s", name)
	return s.Ports[i]
}

// Three hosts send to one through the switch, each with a host NIC and the TCP of its own kernel. In the lossless class
// nothing is lost and no segment is sent again; in the lossy class it has to be.
func TestHostNIC(t *testing.T) {
	const speed = "speed: 100M"
	r := Start(t, 4, Setup{Keys: "priorities: {lossless: [3], trust: dscp, dscp: {26: 3}}\nbuffer: {lossy: {size: " +
		"256KiB}, policy: static, xoff: 16KiB, xon: 8KiB}", Each: speed + ", loop: off, ring: {outage: 200ms}"})
	for n := range r.Hosts {
		r.NIC(n+1, speed)
	}
	// each other than its wire's, and other than the next
	for n, want := range map[int]string{1: "02:00:00:70:66:62", 2: "02:00:00:70:66:61"} {
		if got := IP(t, r.Host(n), "-o", "link", "show", "dev", "nic0"); !strings.Contains(got, "link/ether "+want) {
			t.Errorf("h%d, whose wire is %s: the TAP is not %s: %s", n, HostMAC(n), want, got)
		}
	}
	t.Run("lossless", func(t *testing.T) {
		assert.Equal(t, incast(t, r, 26), 0, "segments were sent again")
		assert.Equal(t, twice(t, r.Host(4)), 0, "segments came twice")
		for n := 1; n <= 3; n++ {
			assert.True(t, r.Snapshot(n).ControlSent.XoffSent[3] != 0, "h%d was never held, so nothing is shown", n)
		}
	})
	t.Run("lossy", func(t *testing.T) {
		again := incast(t, r, 0)
		assert.True(t, again != 0, "no segment was sent again: nothing was lost, so the lossless run shows nothing")
	})
	r.NoLosslessDrops()
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
func incast(t *testing.T, r *Rig, dscp int) (again int) {
	var listener *net.TCPListener
	must(t, r.Host(4).Do(func() (err error) {
		listener, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: HostIP(4)})
		return err
	}))
	var all sync.WaitGroup
	all.Go(func() { sinkThree(t, listener) })
	var mu sync.Mutex
	for n := 1; n <= 3; n++ {
		all.Go(func() {
			info, octets := pump(t, r.Host(n), listener.Addr().(*net.TCPAddr), dscp)
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
	must(t, setDSCP(c, dscp))
	b := pattern(64 << 10)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); octets += len(b) {
		if _, err := c.Write(b); err != nil {
			t.Errorf("after %d octets: %v", octets, err)
			break
		}
	}
	return tcpInfo(t, c), octets
}
