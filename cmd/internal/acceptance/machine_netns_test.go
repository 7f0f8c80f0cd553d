package acceptance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// machine replaces host n by a virtual machine, as machineOf does. What it returns fails the test where the kernel does
// not take a frame.
func (r *Rig) machine(n int) (send func(v frame.VnetHeader, b []byte)) {
	r.T.Helper()
	put := r.machineOf(n)
	return func(v frame.VnetHeader, b []byte) {
		r.T.Helper()
		must(r.T, put(v, b))
	}
}

// machineOf replaces host n by a virtual machine: the port's interface is a TAP of this process. It returns what sends
// a frame of the machine.
func (r *Rig) machineOf(n int) (put func(v frame.VnetHeader, b []byte) error) {
	r.T.Helper()
	must(r.T, r.Node.DeleteLink(PortName(n)))
	r.WaitUp(n, false)
	fd := -1
	must(r.T, port.InNetns(r.Node.Path(), func() (err error) {
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		request, err := unix.NewIfreq(PortName(n))
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}))
	r.T.Cleanup(func() { _ = unix.Close(fd) })
	IP(r.T, r.Node, "link", "set", "dev", PortName(n), "up")
	r.WaitUp(n, true)
	return func(v frame.VnetHeader, b []byte) error {
		head := make([]byte, frame.VnetHeaderOctets)
		v.Encode(head)
		_, err := unix.Writev(fd, [][]byte{head, b})
		return err
	}
}

// A datagram that a virtual machine leaves to the switch to fragment, which the kernel hands to no packet socket, is
// dropped and told of. It costs no other frame its place.
func TestMachineLeavesFragmentation(t *testing.T) {
	r := Start(t, 2, Setup{Keys: "priorities: {lossless: [3], default: 3}\n"})
	send := r.machine(1)
	h2 := r.Station(2, macctl.ModePFC, 1e9)
	const frames = 10
	send(frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOUDP, HdrLen: 42, GSOSize: 1480, CsumStart: 34,
		CsumOffset: 6}, IPv4UDP(1, 2, 0, 4000))
	for range frames {
		send(frame.VnetHeader{}, (&Station{N: 1}).Numbered(Stream{To: 2, Prio: 3, Octets: 1000}))
	}
	eventually(t, "all other frames arrive", func() bool { return h2.Tally(1, 3).Frames == frames })
	assert.Equal(t, r.Snapshot(1).Counters.Drops[dataplane.Unknown][dataplane.DropMalformed], 1,
		"frames dropped as malformed")
	if e := r.Events(dataplane.EventMalformed, 1); len(e) != 1 || !strings.Contains(e[0].Text, "the kernel hands") {
		t.Errorf("events %+v, want one about the kernel", e)
	}
	r.NoLosslessDrops()
}

// A ring that the kernel stops, at a GSO frame as short as an ordinary one, is found, and the sockets are replaced.
// Every frame that was lost until then is counted, and the event names the kernel.
func TestRingThatTheKernelStops(t *testing.T) {
	r := Start(t, 2, Setup{Keys: "priorities: {lossless: [3], default: 3}\n"})
	send := r.machine(1)
	h2 := r.Station(2, macctl.ModePFC, 1e9)
	ordinary := (&Station{N: 1}).Numbered(Stream{To: 2, Prio: 3, Octets: 1000})
	send(frame.VnetHeader{}, ordinary)
	eventually(t, "the port is in use, and has rings", func() bool { return !r.Snapshot(1).RingSlots.Queued })
	for range 2 { // the second time, no earlier than a second after the first
		lost := r.Snapshot(1).Counters.LosslessDrops[dataplane.Unknown]
		arrived, sent := h2.Tally(1, 3).Frames, uint64(1)
		send(frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOUDP, HdrLen: 42, GSOSize: 200,
			CsumStart: 34, CsumOffset: 6}, IPv4UDP(1, 2, 0, 400))
		eventually(t, "frames arrive again", func() bool {
			send(frame.VnetHeader{}, ordinary)
			sent++
			time.Sleep(time.Millisecond)
			return h2.Tally(1, 3).Frames > arrived+100
		})
		var got uint64
		eventually(t, "every frame has arrived or is counted", func() bool {
			got = r.Snapshot(1).Counters.LosslessDrops[dataplane.Unknown] - lost
			return got+h2.Tally(1, 3).Frames-arrived == sent
		})
		assert.True(t, got != 0, "nothing was lost: the ring did not stop, and nothing is tested")
	}
	r.LossesAreTold(1)
	all := r.Events(dataplane.EventLosslessDrop, 1)
	for _, e := range all {
		assert.True(t, strings.HasPrefix(e.Text, "the kernel stopped a receive ring"),
			"event %+v, want one that names the kernel", e)
	}
	if all := r.Events(dataplane.EventPort, 1); !slices.ContainsFunc(all, func(e dataplane.Event) bool {
		return strings.Contains(e.Text, "the sockets are replaced")
	}) {
		t.Errorf("events %+v, want one about the sockets", all)
	}
}
