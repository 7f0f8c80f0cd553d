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
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// TCP with the kernels' default offloads: whole, in order, and without a lost segment but those that a switch has
// dropped at a lossy threshold and counted. Two switches stand in line, and the link between them is tagged, so that
// GSO frames and unfinished checksums go through every form of tag.
//
//	h1 ── p1 s1 q1 ══ q2 s2 p2 ── h2
func TestTCP(t *testing.T) {
	for _, speed := range speeds {
		t.Run(speed, func(t *testing.T) {
			r := NewRig(t, 2)
			r.offloadingHosts()
			must(t, r.Lab.Link(r.Node, "q1", r.Node, "q2", lab.LinkOptions{}))
			var line [2]Switch
			for n := range line {
				line[n], _ = Run(t, r.lineSwitch(n+1, speed))
			}
			for _, class := range []struct {
				name string
				dscp int
			}{{"lossy", 0}, {"lossless", 26}} {
				t.Run(class.name, func(t *testing.T) { transfer(t, r, line, class.dscp) })
			}
		})
	}
}

// offloadingHosts gives the hosts addresses, and fails the test unless their kernels leave work to the interface.
func (r *Rig) offloadingHosts() {
	r.T.Helper()
	for n, h := range r.Hosts {
		s := assert.Got(port.SurveyOne(h.Path(), "eth0")).Must(r.T)
		assert.MustBeTrue(r.T, s.Offloads["tcp-segmentation-offload"] && s.Offloads["tx-checksumming"],
			"h%d does not use the offloads that this is about: %v", n+1, s.Offloads)
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
func transfer(t *testing.T, r *Rig, line [2]Switch, dscp int) {
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

	before := drops(line)
	start, sum, b := time.Now(), sha256.New(), pattern(64<<10)
	for sent := 0; sent < transferOctets; sent += len(b) {
		b[sent/len(b)%len(b)]++ // no two pieces are the same
		sum.Write(b)
		must(t, client.SetDeadline(time.Now().Add(Timeout))) // slow it may be, but it goes on
		_, err := client.Write(b)
		assert.MustNoError(t, err, "after %d octets", sent)
	}
	eventually(t, "all is acknowledged", func() bool { return tcpInfo(t, client).Unacked == 0 })
	took, after := time.Since(start), drops(line)
	for reason := range after {
		after[reason] -= before[reason]
	}
	onlyDropsAreSentAgain(t, client, dscp != 0, after)
	t.Logf("%.2f Gbit/s", transferOctets*8/took.Seconds()/1e9)
	must(t, client.CloseWrite())
	assert.Equal(t, <-received, [sha256.Size]byte(sum.Sum(nil)), "what came is not what was sent")
}

// onlyDropsAreSentAgain fails the test unless TCP has sent nothing again for what the switches do: each segment that it
// sent again came twice, by the receiver's word, because a timer of the sender's kernel ended early on a busy machine,
// or is one that a switch has dropped at a lossy threshold. No segment came late.
func onlyDropsAreSentAgain(t *testing.T, c *net.TCPConn, lossless bool, dropped reasons) {
	t.Helper()
	const segments = 46 // of a GSO frame of 64 KiB
	most := segments * dropped[dataplane.DropLossyThreshold]
	if lossless {
		most = 0 // what was dropped are acknowledgements, which are lossy
	}
	eventually(t, "what was sent again is what was dropped, or came twice", func() bool {
		info := tcpInfo(t, c)
		return uint64(info.Total_retrans) <= most+uint64(info.Dsack_dups)
	})
	info := tcpInfo(t, c)
	t.Logf("%d of %d segments sent again, %d came twice; %d frames dropped at a threshold", info.Total_retrans,
		info.Segs_out, info.Dsack_dups, dropped[dataplane.DropLossyThreshold])
	assert.Equal(t, info.Reord_seen, 0, "how often segments came in another order")
	dropped[dataplane.DropLossyThreshold], dropped[dataplane.DropFiltered] = 0, 0 // filtered: the kernels' multicast
	assert.Equal(t, dropped, reasons{}, "frames dropped for other reasons than a lossy threshold, by reason")
}

// reasons are counts of dropped frames by reason.
type reasons [dataplane.NumDropReasons]uint64

// drops adds up the frames that the switches have dropped.
func drops(line [2]Switch) (sum reasons) {
	for _, d := range line {
		var s dataplane.Snapshot
		d.Source().Snapshot(&s)
		for i := range s.Ports {
			for _, byReason := range s.Ports[i].Counters.Drops {
				for reason, n := range byReason {
					sum[reason] += n
				}
			}
		}
	}
	return sum
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
