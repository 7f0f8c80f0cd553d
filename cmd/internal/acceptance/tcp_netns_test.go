package acceptance

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/port"
)

// TCP with the kernels' default offloads: whole, and with few segments sent again. Two switches stand in line, and the
// link between them is tagged, so that GSO frames and unfinished checksums go through every form of tag.
//
//	h1 ── p1 s1 q1 ══ q2 s2 p2 ── h2
func TestTCP(t *testing.T) {
	for _, speed := range speeds {
		t.Run(speed, func(t *testing.T) {
			r := NewRig(t, 2)
			r.offloadingHosts()
			must(t, r.Lab.Link(r.Node, "q1", r.Node, "q2", lab.LinkOptions{}))
			for n := 1; n <= 2; n++ {
				Run(t, r.lineSwitch(n, speed))
			}
			t.Run("lossy", func(t *testing.T) { transfer(t, r, 0) })
			t.Run("lossless", func(t *testing.T) { transfer(t, r, 26) })
		})
	}
}

// offloadingHosts gives the hosts addresses, and fails the test unless their kernels leave work to the interface.
func (r *Rig) offloadingHosts() {
	r.T.Helper()
	for n, h := range r.Hosts {
		s, err := port.SurveyOne(h.Path(), "eth0")
		must(r.T, err)
		if !s.Offloads["tcp-segmentation-offload"] || !s.Offloads["tx-checksumming"] {
			r.T.Fatalf("h%d does not use the offloads that this is about: %v", n+1, s.Offloads)
		}
		must(r.T, h.AddAddr("eth0", HostIP(n+1).String()+"/24"))
	}
}

// lineSwitch is number n of two switches in line.
func (r *Rig) lineSwitch(n int, speed string) *config.Config {
	r.T.Helper()
	c, _, err := config.Parse("line.yaml", fmt.Appendf(nil, `
name: s%[1]d
metrics: {listen: off}
api: {socket: %[2]s/s%[1]d.sock}
priorities: {lossless: [3], trust: dscp, dscp: {26: 3}}
ports:
  p: {interface: p%[1]d, netns: %[3]s, %[4]s, pvid: 10}
  q: {interface: q%[1]d, netns: %[3]s, %[4]s, tagged: [10]}
`, n, r.Dir, r.Node.Path(), speed))
	must(r.T, err)
	return c
}

// transferOctets takes a fraction of a second at 1 Gbit/s.
const transferOctets = 32 << 20

// transfer sends from host 1 to host 2.
func transfer(t *testing.T, r *Rig, dscp int) {
	var listener *net.TCPListener
	must(t, r.Host(2).Do(func() (err error) {
		listener, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: HostIP(2)})
		return err
	}))
	defer listener.Close()
	var client *net.TCPConn
	must(t, r.Host(1).Do(func() (err error) {
		client, err = net.DialTCP("tcp4", nil, listener.Addr().(*net.TCPAddr))
		return err
	}))
	defer client.Close()
	must(t, setDSCP(client, dscp))
	received := make(chan [sha256.Size]byte, 1)
	go digest(listener, received)

	start, sum, b := time.Now(), sha256.New(), pattern(64<<10)
	must(t, client.SetDeadline(start.Add(30*time.Second)))
	for sent := 0; sent < transferOctets; sent += len(b) {
		b[sent/len(b)%len(b)]++ // no two pieces are the same
		sum.Write(b)
		if _, err := client.Write(b); err != nil {
			t.Fatalf("after %d octets: %v", sent, err)
		}
	}
	info := tcpInfo(t, client)
	must(t, client.CloseWrite())
	if got := <-received; got != [sha256.Size]byte(sum.Sum(nil)) {
		t.Errorf("what came is not what was sent")
	}
	took := time.Since(start)
	t.Logf("%.2f Gbit/s, %d of %d segments sent again", transferOctets*8/took.Seconds()/1e9, info.Total_retrans,
		info.Segs_out)
	// A TCP without flow control below it finds the end of the buffer by losing a window's end now and then. A switch
	// that hands over wrong checksums or segments makes it lose whole windows all the time.
	if limit := transferOctets / 1448 / 10; int(info.Total_retrans) > limit {
		t.Errorf("%d segments were sent again, want at most %d", info.Total_retrans, limit)
	}
}

func digest(l net.Listener, done chan<- [sha256.Size]byte) {
	sum := sha256.New()
	if c, err := l.Accept(); err == nil {
		_, _ = io.Copy(sum, c) // what is missing shows in the sum
		_ = c.Close()
	}
	done <- [sha256.Size]byte(sum.Sum(nil))
}

func tcpInfo(t *testing.T, c *net.TCPConn) (info *unix.TCPInfo) {
	t.Helper()
	must(t, onSocket(c, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	}))
	return info
}

// setDSCP makes a connection send with a DSCP.
func setDSCP(c syscall.Conn, dscp int) error {
	return onSocket(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, dscp<<2) })
}

// onSocket runs f on the descriptor of a connection.
func onSocket(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	return errors.Join(raw.Control(func(fd uintptr) { failed = f(int(fd)) }), failed)
}
