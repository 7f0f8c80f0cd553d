package classify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// The kernel agrees with Priority: every frame goes over a veth pair into a real fanout group with the program
// attached, and arrives at the socket of its priority.
func TestFanoutInTheKernel(t *testing.T) {
	w := newWire(t)
	frames := specimens(t)
	frames = append(frames, specimen{name: "headers in fragments",
		b: craft(t, nil, layers.EthernetTypeIPv4, append(ipv4(26), gopacket.Payload(make([]byte, 8000)))...)})
	frames = append(frames, specimen{name: "tag and headers in fragments", b: craft(t, []tag{{layers.EthernetTypeDot1Q,
		3, 10}}, layers.EthernetTypeIPv6, append(ipv6(46), gopacket.Payload(make([]byte, 8000)))...)})
	for _, trust := range []Trust{TrustPCP, TrustDSCP, TrustPort} {
		for _, lossless := range []uint8{0x08, 0x41, 0x80, 0x7F, 0x00, 0xFF} {
			c := distinct(trust)
			program := assert.Got(c.Fanout(lossless)).Must(t)
			w.attach(t, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, w.rings[0], program)
			for _, s := range frames {
				name := fmt.Sprintf("trust %v, lossless %08b, %s", trust, lossless, s.name)
				w.send(t, s.b)
				assert.Equal(t, w.receive(t, name), wantRing(&c, lossless, s.b), "%s: socket", name)
			}
		}
	}
}

// If the program cannot finish, frames go to the ring that may lose.
func TestFanoutFailsIntoTheOtherRing(t *testing.T) {
	w := newWire(t)
	beyond := assert.Got(bpf.Assemble([]bpf.Instruction{bpf.LoadAbsolute{Off: 9999, Size: 1},
		bpf.RetConstant{Val: RingLossless}})).Must(t)
	w.attach(t, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, w.rings[0], beyond)
	w.send(t, specimens(t)[0].b)
	assert.Equal(t, w.receive(t, "load beyond the packet"), RingOther, "socket")
}

// MAC Control and LLDP frames, and no others, arrive at the control ring, tagged or not.
func TestControlInTheKernel(t *testing.T) {
	w := newWire(t)
	c := layers.EthernetTypeDot1Q
	payload := gopacket.Payload(append([]byte{1, 1}, make([]byte, 44)...))
	tests := []struct {
		name string
		b    []byte
		want int
	}{
		{"PFC", craft(t, nil, 0x8808, payload), RingControl},
		{"PFC, tagged", craft(t, []tag{{c, 7, 0}}, 0x8808, payload), RingControl},
		{"LLDP", craft(t, nil, 0x88CC, payload), RingControl},
		{"LLDP, tagged", craft(t, []tag{{c, 7, 0}}, 0x88CC, payload), RingControl},
		{"slow protocol", craft(t, nil, 0x8809, payload), RingOther + RingSmall},
		{"IPv4", specimens(t)[0].b, RingOther + RingSmall},
		{"ARP, tagged", specimens(t)[14].b, RingOther + RingSmall},
	}
	config := Config{Trust: TrustPCP, DSCP: DefaultDSCP()}
	program := assert.Got(config.Fanout(0x08)).Must(t)
	w.attach(t, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, w.rings[0], program)
	for _, tt := range tests {
		w.send(t, tt.b)
		assert.Equal(t, w.receive(t, tt.name), tt.want, "%s: socket", tt.name)
	}
}

// wire is a veth pair in a network namespace of its own: a socket that sends at one end; at the other the rings as a
// fanout group. The namespace has no name and goes with the sockets.
type wire struct {
	near  int
	rings []int // in the order of their constants
}

func newWire(t *testing.T) *wire {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	origin := assert.Got(netns.Get()).Must(t)
	defer origin.Close()
	namespace, err := netns.New()
	if err != nil {
		unavailable(t, err)
	}
	defer namespace.Close()
	defer func() { assert.NoError(t, netns.Set(origin), "back to the first namespace") }()
	attrs := netlink.LinkAttrs{Name: "near", MTU: 9000}
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "far", PeerMTU: 9000}); err != nil {
		unavailable(t, err)
	}
	near, far := linkUp(t, "near"), linkUp(t, "far")
	awaitCarrier(t, "near")

	w := &wire{near: socket(t, near, 0)}
	// The kernel takes the length of the linear part of a frame from this header.
	setOption(t, w.near, unix.PACKET_VNET_HDR, 1)
	for range RingSmall + RingLossless + 1 {
		w.rings = append(w.rings, w.ring(t, far))
	}
	return w
}

func unavailable(t *testing.T, err error) {
	t.Helper()
	assert.MustBeTrue(t, os.Getenv("REQUIRE_NETNS") != "1",
		"cannot make a namespace with a veth pair, and REQUIRE_NETNS=1 asks for it: %v", err)
	t.Skipf("needs a namespace with a veth pair (root, or unshare -Urn): %v", err)
}

func linkUp(t *testing.T, name string) (index int) {
	t.Helper()
	link := assert.Got(netlink.LinkByName(name)).Must(t)
	// where there is no IPv6, all is well
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	assert.Must(t, netlink.LinkSetUp(link))
	return link.Attrs().Index
}

// awaitCarrier waits until frames sent to the interface are no longer discarded: the kernel notices the carrier with
// some delay.
func awaitCarrier(t *testing.T, name string) {
	t.Helper()
	for range 500 {
		if link, err := netlink.LinkByName(name); err == nil && link.Attrs().OperState == netlink.OperUp {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s has no carrier", name)
}

func socket(t *testing.T, index int, protocol uint16) int {
	t.Helper()
	fd := assert.Got(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)).Must(t)
	t.Cleanup(func() { unix.Close(fd) })
	order := binary.BigEndian.AppendUint16(nil, protocol)
	assert.Must(t, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index, Protocol: binary.NativeEndian.Uint16(order)}))
	return fd
}

func setOption(t *testing.T, fd, option, value int) {
	t.Helper()
	assert.MustNoError(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, option, value), "socket option %d", option)
}

// ring opens a socket and makes it a member of the fanout group, in the order of the rings.
func (w *wire) ring(t *testing.T, index int) int {
	t.Helper()
	fd := socket(t, index, unix.ETH_P_ALL)
	setOption(t, fd, unix.PACKET_FANOUT, 1|(unix.PACKET_FANOUT_CBPF|unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING)<<16)
	return fd
}

func (w *wire) attach(t *testing.T, level, option, fd int, program []bpf.RawInstruction) {
	t.Helper()
	filter := make([]unix.SockFilter, len(program))
	for i, r := range program {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	assert.MustNoError(t,
		unix.SetsockoptSockFprog(fd, level, option, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
		"attach program")
}

// send asks for the shortest linear part, so that all behind the MAC header of a frame longer than a page lies in
// fragments.
func (w *wire) send(t *testing.T, b []byte) {
	t.Helper()
	header := make([]byte, frame.VnetHeaderOctets)
	frame.VnetHeader{HdrLen: frame.HeaderOctets}.Encode(header)
	assert.MustNoError(t, unix.Send(w.near, append(header, b...), 0), "send")
}

// receive returns the index of the only socket that got the test's frame.
func (w *wire) receive(t *testing.T, name string) (ring int) {
	t.Helper()
	poll := make([]unix.PollFd, len(w.rings))
	for i, fd := range w.rings {
		poll[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	for range 100 {
		n, err := unix.Poll(poll, 2000)
		assert.MustBeTrue(t, (err == nil || err == unix.EINTR) && n != 0, "%s: no socket got the frame: %v", name, err)
		var got []int
		for i, p := range poll {
			if p.Revents&unix.POLLIN != 0 && w.isOurs(t, w.rings[i]) {
				got = append(got, i)
			}
		}
		assert.MustBeTrue(t, len(got) <= 1, "%s: sockets %v got the frame, want one", name, got)
		if len(got) == 1 {
			return got[0]
		}
	}
	t.Fatalf("%s: strangers only", name)
	return 0
}

// isOurs takes a frame from the socket and reports whether the test sent it.
func (w *wire) isOurs(t *testing.T, fd int) bool {
	t.Helper()
	b := make([]byte, 16384)
	n := assert.Got(unix.Read(fd, b)).Must(t)
	return n >= 12 && bytes.Equal(b[6:12], testSrc)
}
