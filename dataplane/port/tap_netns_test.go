package port_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A tap is a TAP in a namespace of its own.
type tap struct {
	*port.TAP
	t      testing.TB
	ns     string
	handle *netlink.Handle
}

// vector replaces MAC Control in these tests: the octet behind the EtherType is the set of paused priorities.
func vector(b []byte, _ uint8) uint8 { return b[frame.HeaderOctets] }

func newTAP(t testing.TB, rule port.QueueRule) *tap {
	t.Helper()
	h := openTAP(t, rule)
	assert.MustNoError(t, h.Shared(), "one queue for all priorities, so nothing is tested")
	return h
}

func openTAP(t testing.TB, rule port.QueueRule) *tap {
	t.Helper()
	ns, handle := newNamespace(t)
	p := assert.Got(port.OpenTAP(port.TAPConfig{Interface: "nic0", Netns: ns, Held: vector,
		TAPSettings: port.TAPSettings{MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 0, 9}, Queues: rule}})).Must(t)
	t.Cleanup(func() { assert.Must(t, p.Close()) })
	h := &tap{TAP: p, t: t, ns: ns, handle: handle}
	h.collect(1 << 20) // what the kernel sends by itself
	return h
}

// send makes the host's stack send frames on a socket with a priority.
func (h *tap) send(priority int, frames ...[]byte) {
	h.t.Helper()
	assert.Must(h.t, h.offer(priority, frames...))
}

// offer is send for frames that the kernel may drop. It returns the errors.
func (h *tap) offer(priority int, frames ...[]byte) (errs error) {
	h.t.Helper()
	fd := rawSocket(h.t, h.ns, 0, link(h.t, h.handle, "nic0").Attrs().Index)
	defer unix.Close(fd)
	assert.Must(h.t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PRIORITY, priority))
	for _, b := range frames {
		_, err := unix.Write(fd, b)
		errs = errors.Join(errs, err)
	}
	return errs
}

// collect receives at most n frames of the tests and releases them.
func (h *tap) collect(n int) (all [][]byte) {
	var frames [64]port.Frame
	for len(all) < n {
		got := h.Receive(port.Lossless, frames[:min(len(frames), n-len(all))], 1<<20)
		if got == 0 {
			break
		}
		for _, f := range frames[:got] {
			if h, ok := frame.Parse(f.Data); ok && (h.EtherType == experimental || h.EtherType == unix.ETH_P_IP &&
				f.Data[len(f.Data)-1] == 0xee) {
				all = append(all, bytes.Clone(f.Data))
			}
		}
		h.Release(port.Lossless, got)
	}
	return all
}

func (h *tap) pause(priorities uint8) {
	h.t.Helper()
	header := binary.BigEndian.AppendUint16(make([]byte, 12), frame.TypeMACControl)
	assert.Must(h.t, h.SendControl(append(header, priorities)))
}

// Frames that were read from the kernel and not released are those that go with the TAP.
func TestTAPBacklog(t *testing.T) {
	h := newTAP(t, port.QueueRule{})
	const n = 5
	h.pause(0xff)
	for i := range n {
		h.send(0, craft(nil, experimental, i, 100))
	}
	assert.Equal(t, h.Backlog(port.Lossless), port.Backlog{}, "frames wait in the host, and not here")
	h.pause(0)
	var frames [64]port.Frame
	h.collect(1)
	got := 1 + h.Receive(port.Lossless, frames[:], 1<<20)
	h.Rewind(port.Lossless)
	if b := h.Backlog(port.Lossless); b.Frames != got-1 || got < n || b.Octets < 100*(n-1) {
		t.Errorf("%d frames of %d octets wait after 1 of %d, want %d", b.Frames, b.Octets, got, got-1)
	}
	assert.Equal(t, h.Backlog(port.Other).Frames, 0, "frames of the other class, want none")
	h.collect(n)
	assert.Equal(t, h.Backlog(port.Lossless).Frames, 0, "frames wait after all, want none")
}

// With trust in tags, a frame's queue is that of its tag, or else of its socket, which then becomes a priority tag.
func TestTAPQueuesByTagAndSocket(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true, DSCP: &[64]uint8{0: 7, 26: 4}, Default: 1})
	untagged, tagged := craft(nil, experimental, 1, 64), craft(tci(2, 7), experimental, 2, 64)
	for _, tt := range []struct {
		name   string
		socket int
		frame  []byte
		queue  uint8
		want   []byte
	}{
		{"neither", 0, untagged, 1, untagged},
		{"that of the default", 1, untagged, 1, untagged},
		{"a socket's", 5, untagged, 5, slices.Insert(bytes.Clone(untagged), 12, 0x81, 0, 5<<5, 0)},
		{"a tag's", 0, tagged, 2, tagged},
		{"both", 5, tagged, 2, tagged},
		{"no priority", 8, untagged, 1, untagged},
		{"a DSCP", 5, ip(26), 4, slices.Insert(ip(26), 12, 0x81, 0, 4<<5, 0)},
		{"no DSCP", 5, ip(0), 5, slices.Insert(ip(0), 12, 0x81, 0, 5<<5, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h.pause(1 << tt.queue)
			h.send(tt.socket, tt.frame)
			got := h.collect(1)
			assert.MustBeTrue(t, got == nil, "read although its priority is paused: %x", got)
			h.pause(^(uint8(1) << tt.queue))
			got = h.collect(1)
			assert.True(t, len(got) == 1 && bytes.Equal(got[0], tt.want), "got %x, want %x", got, tt.want)
		})
	}
}

// ip returns a frame whose IPv4 header has a DSCP.
func ip(dscp int) []byte {
	b := craft(nil, unix.ETH_P_IP, 0, 60)
	b[14], b[15], b[59] = 0x45, byte(dscp<<2|3), 0xee
	return b
}

// With trust in the DSCP, the DSCP of IPv4 and IPv6 decides.
func TestTAPQueuesByDSCP(t *testing.T) {
	var table [64]uint8
	for i := range table {
		table[i] = uint8(i*5) & 7
	}
	h := newTAP(t, port.QueueRule{DSCP: &table, Default: 6})
	for dscp := range 64 {
		queue := uint8(1) << table[dscp]
		h.pause(queue)
		h.send(5, ip(dscp))
		got := h.collect(1)
		assert.MustBeTrue(t, got == nil, "DSCP %d: not in queue %d", dscp, table[dscp])
		h.pause(^queue)
		if got := h.collect(1); len(got) != 1 || !bytes.Equal(got[0], ip(dscp)) {
			t.Fatalf("DSCP %d: got %x, want %x", dscp, got, ip(dscp))
		}
	}
}

// A paused priority waits in order, and the others go on. Frames are handed over again until they are released.
func TestTAPPause(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true})
	three := [][]byte{craft(tci(3, 0), experimental, 1, 64), craft(tci(3, 0), experimental, 2, 1500),
		craft(tci(3, 0), experimental, 3, 64)}
	h.pause(1 << 3)
	h.send(0, three...)
	h.send(0, craft(tci(4, 0), experimental, 4, 64))
	if got := h.collect(9); len(got) != 1 || frame.TCI(binary.BigEndian.Uint16(got[0][14:])).PCP() != 4 {
		t.Fatalf("got %x, want the frame of priority 4", got)
	}
	h.pause(0)
	var frames [8]port.Frame
	for range 2 {
		if n := h.Receive(port.Lossless, frames[:2], 1<<20); n != 2 || !bytes.Equal(frames[1].Data, three[1]) {
			t.Fatalf("%d frames, the second %x", n, frames[1].Data)
		}
		h.Rewind(port.Lossless)
	}
	assert.Equal(t, h.Receive(port.Lossless, frames[:], 70), 1, "frames in 70 octets")
	h.Release(port.Lossless, 1)
	if got := h.collect(9); len(got) != 2 || !bytes.Equal(got[0], three[1]) || !bytes.Equal(got[1], three[2]) {
		t.Errorf("got %x, want %x", got, three[1:])
	}
}

// Receive leaves a queue after its budget, though more frames wait in it.
func TestTAPTurn(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true})
	const octets = 1500
	most := h.QueueBudget()/octets + 1
	h.send(0, slices.Repeat([][]byte{craft(tci(3, 0), experimental, 1, octets)}, most+5)...)
	var frames [64]port.Frame
	for _, want := range []int{most, 5} {
		n, sent := h.Receive(port.Lossless, frames[:], 1<<20), 0
		for _, f := range frames[:n] {
			if ours(f.Data) && len(f.Data) == octets { // the host's stack speaks too
				sent++
			}
		}
		assert.Equal(t, sent, want, "frames at once, of %d octets each", octets)
		h.Release(port.Lossless, n)
	}
}

// If no program may sort frames, they share a queue: one pause stops all. The DSCP still becomes the tag.
func TestTAPWithoutBPF(t *testing.T) {
	defer port.WithoutBPF()()
	h := openTAP(t, port.QueueRule{Tags: true, DSCP: &[64]uint8{0: 7, 26: 4}, Default: 1})
	if why := h.Shared(); why == nil || !strings.Contains(why.Error(), "operation not permitted") {
		t.Fatalf("shared because of %v", why)
	}
	tagged := craft(tci(2, 7), experimental, 2, 64)
	h.pause(1 << 6)
	h.send(5, ip(26), ip(0), tagged)
	got := h.collect(3)
	assert.MustBeTrue(t, got == nil, "read although a priority is paused: %x", got)
	assert.Must(t, h.ClearPause())
	want := [][]byte{slices.Insert(ip(26), 12, 0x81, 0, 4<<5, 0), ip(0), tagged}
	got = h.collect(3)
	assert.True(t, slices.EqualFunc(got, want, bytes.Equal), "got %x, want %x", got, want)
}

// A queue that is always full does not keep the others from being read.
func TestTAPTakesTurns(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true})
	h.pause(0xff)
	flood, other := craft(tci(0, 0), experimental, 1, 64), craft(tci(3, 0), experimental, 2, 64)
	for range 20 {
		h.send(0, slices.Repeat([][]byte{flood}, 50)...)
	}
	h.send(0, slices.Repeat([][]byte{other}, 50)...)
	h.pause(0)
	threes := 0
	for _, b := range h.collect(200) {
		if frame.TCI(binary.BigEndian.Uint16(b[14:])).PCP() == 3 {
			threes++
		}
	}
	assert.Equal(t, threes, 50, "frames of priority 3 among the first 200")
}

// Frames beyond the host's queue are dropped by the kernel and counted.
func TestTAPCountsWhatTheHostLoses(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true})
	h.pause(0xff)
	const beyond = 100
	b := craft(tci(3, 0), experimental, 1, 64)
	_ = h.offer(0, slices.Repeat([][]byte{b}, 1<<16+beyond)...)
	h.RefreshHostDrops()
	assert.Equal(t, h.HostDrops(), beyond, "frames dropped")
}

// The interface is up and has its addresses, and both follow a change. The kernel reserves no memory for queues other
// than the TAP's own.
func TestTAPSettings(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true})
	inspect := func() port.Link {
		return assert.Got(port.Inspect(h.ns, "nic0")).Must(t)
	}
	nic := link(t, h.handle, "nic0")
	qdiscs := assert.Got(h.handle.QdiscList(nic)).Must(t)
	if l := nic.Attrs().TxQLen; len(qdiscs) != 1 || qdiscs[0].Type() != "noqueue" || l != 1<<16 {
		t.Errorf("queues of %d frames, queueing disciplines %v; want %d and noqueue alone", l, qdiscs, 1<<16)
	}
	l := inspect()
	assert.True(t, l.Up && l.MTU == 1500 && l.MAC == [6]byte{2, 0, 0, 0, 0, 9} && l.Kind == "tuntap" &&
		len(l.Addresses) == 0, "the interface is %+v", l)
	for _, addresses := range [][]netip.Prefix{
		{netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("fd00::1/64")},
		{netip.MustParsePrefix("10.0.0.2/24")}, nil,
	} {
		assert.Must(t, h.Configure(port.TAPSettings{MTU: 9000, Addresses: addresses}))
		l := inspect()
		assert.True(t, l.MTU == 9000 && len(l.Addresses) == len(addresses),
			"with %v the interface is %+v", addresses, l)
	}
	assert.True(t, h.Bound(), "not bound although the interface is there")
	assert.Must(t, h.handle.LinkDel(nic))
	assert.True(t, !h.Bound(), "bound although the interface is gone")
}

// After a change that failed half-way the old settings undo what it has done.
func TestTAPSettingsFailHalfWay(t *testing.T) {
	h := newTAP(t, port.QueueRule{Tags: true})
	one, two := netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("10.0.0.2/24")
	other := netip.MustParsePrefix("10.0.1.3/24")
	group := netip.MustParsePrefix("ff02::1/64") // the kernel refuses it
	old := port.TAPSettings{MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 0, 9}, Addresses: []netip.Prefix{one, two}}
	for _, s := range []port.TAPSettings{
		{MTU: 9000, MAC: [6]byte{2, 0, 0, 0, 0, 8}, Addresses: []netip.Prefix{other, group}},
		{MTU: 1400, MAC: old.MAC, Addresses: []netip.Prefix{group, two}}, // with the first, the second has gone too
		{MTU: 1500, MAC: old.MAC, Addresses: []netip.Prefix{group}},
	} {
		assert.Must(t, h.Configure(old))
		for range 2 { // the same again tries again
			if err := h.Configure(s); err == nil || !strings.Contains(err.Error(), "give it the address ff02::1/64") {
				t.Fatalf("%+v: error %v, want one about the address of a group", s, err)
			}
		}
		for _, addresses := range [][]netip.Prefix{{two}, old.Addresses} {
			back := old
			back.Addresses = addresses
			assert.Must(t, h.Configure(back))
			l := assert.Got(port.Inspect(h.ns, "nic0")).Must(t)
			assert.True(t, l.MTU == old.MTU && l.MAC == old.MAC && len(l.Addresses) == len(addresses),
				"after %+v and then %+v the interface is %+v", s, back, l)
		}
	}
}

// Every error names its remedy.
func TestTAPErrors(t *testing.T) {
	h := newTAP(t, port.QueueRule{})
	for _, tt := range []struct {
		name string
		c    port.TAPConfig
		want string
	}{
		{"a TAP of that name", port.TAPConfig{Interface: "nic0", Netns: h.ns},
			"interface nic0 exists already and is a TAP or TUN: delete it (" +
				port.CommandIn(h.ns, "ip link del dev nic0") + ")"},
		{"no namespace", port.TAPConfig{Interface: "nic1", Netns: "/run/netns/none"},
			"network namespace does not exist"},
		{"an MTU that no TAP has", port.TAPConfig{Interface: "nic2", Netns: h.ns,
			TAPSettings: port.TAPSettings{MTU: 1 << 17}}, "set its MTU to 131072"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantNoTAP(t, tt.c, tt.want) })
	}
	assert.Must(t, h.Steer([]bpf.RawInstruction{}))
}

// A TUN driver without the needed features makes no TAP, and the error says what is missing.
func TestTAPWithoutFeatures(t *testing.T) {
	ns, handle := newNamespace(t)
	const all = unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE
	for _, tt := range []struct {
		name     string
		features uint32
		err      error
	}{
		{"no virtio_net header", all &^ unix.IFF_VNET_HDR, nil},
		{"one queue", all &^ unix.IFF_MULTI_QUEUE, nil},
		{"a driver that does not tell", 0, unix.EINVAL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer port.WithTUN(tt.features, tt.err)()
			wantNoTAP(t, port.TAPConfig{Interface: "nic0", Netns: ns, Held: vector,
				TAPSettings: port.TAPSettings{MTU: 1500}},
				"TAP nic0: this kernel's TUN driver has no multi-queue TAP with a virtio_net header")
			_, err := handle.LinkByName("nic0")
			assert.True(t, err != nil, "it has left an interface behind")
		})
	}
}

// wantNoTAP makes sure that a TAP cannot be opened, and that the error says why.
func wantNoTAP(t *testing.T, c port.TAPConfig, why string) {
	t.Helper()
	p, err := port.OpenTAP(c)
	if err == nil {
		_ = p.Close()
	}
	assert.Fails(t, err, why, "error")
}
