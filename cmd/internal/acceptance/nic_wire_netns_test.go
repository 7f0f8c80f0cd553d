package acceptance

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// holding makes the far end of a wire hold priority 3 of a host NIC at 100 Mbit/s until the returned function lets it
// go.
func holding(t *testing.T, s *porttest.Socket) (free func()) {
	t.Helper()
	pause := func(quanta uint16) {
		err := s.Send(frame.VnetHeader{}, macctl.AppendPFC(nil, [6]byte(PortMAC(1)), 1<<3, [8]uint16{3: quanta}))
		assert.True(t, err == nil, "%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var held sync.WaitGroup
	pause(0xffff) // for 336 ms
	held.Go(func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				pause(0xffff)
			}
		}
	})
	free = sync.OnceFunc(func() { cancel(); held.Wait(); pause(0) })
	t.Cleanup(free)
	return free
}

// datagrams sends numbered datagrams with a DSCP from host 1 to the address of host 2, which is no host.
func (r *Rig) datagrams(dscp int) (send func(n int)) {
	r.T.Helper()
	var c *net.UDPConn
	must(r.T, r.Host(1).Do(func() (err error) {
		c, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: HostIP(2), Port: 4791})
		return err
	}))
	r.T.Cleanup(func() { _ = c.Close() })
	must(r.T, setDSCP(c, dscp))
	// it never waits for the TAP
	must(r.T, onSocket(c, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 64<<20)
	}))
	b, next := make([]byte, 1400), uint32(0)
	return func(n int) {
		r.T.Helper()
		for range n {
			binary.BigEndian.PutUint32(b, next)
			next++
			assert.Got(c.Write(b)).Must(r.T)
		}
	}
}

// datagram returns the DSCP and the number of the next datagram.
func datagram(t *testing.T, s *porttest.Socket) (dscp int, number uint32) {
	t.Helper()
	for {
		b := next(t, s).Data
		h, ok := frame.Parse(b)
		if !ok || h.EtherType != frame.TypeIPv4 || len(b) < h.NetOffset+28+4 || b[h.NetOffset+9] != unix.IPPROTO_UDP {
			continue
		}
		return int(b[h.NetOffset+1] >> 2), binary.BigEndian.Uint32(b[h.NetOffset+28:])
	}
}

// A priority that the wire's far end holds waits in its queue of the host's stack, though that holds megabytes, and
// another goes past it at once: what was read of the first has room in the buffer, so that nothing waits between the
// TAP and the switch. The proof is that no frame ever waited for buffer (RingHoldNs is 0), where it would have kept
// those behind it until the wire is let go. The bound on the time proves less: most of the time of ten frames is left
// to the machine.
func TestHeldPriorityStopsNoOther(t *testing.T) {
	const many, probes = 4000, 20
	// of the held priority on the wire: what may be in the way
	const oneFrame = (1400 + 28 + 18 + 24) * 8 * time.Second / 100_000_000
	r := NewRig(t, 1)
	d := r.NIC(1, "speed: 100M")
	IP(t, r.Host(1), "neigh", "add", HostIP(2).String(), "lladdr", HostMAC(2).String(), "dev", "nic0")
	far := socketAt(t, r.Node, "p1")
	free := holding(t, socketAt(t, r.Node, "p1"))
	eventually(t, "the wire obeys", func() bool { return nicPort(t, d, "wire").Paused == 1<<3 })
	held, other := r.datagrams(26), r.datagrams(0)
	held(many)
	eventually(t, "the TAP is not read any more", func() bool { return nicPort(t, d, "host").XoffWanted == 1<<3 })

	var took []time.Duration
	for i := range uint32(probes) {
		sent := time.Now()
		other(1)
		if dscp, n := datagram(t, far); dscp != 0 || n != i {
			t.Fatalf("datagram %d with DSCP %d came, want number %d with DSCP 0: the other one is held", n, dscp, i)
		}
		took = append(took, time.Since(sent))
	}
	slices.Sort(took)
	t.Logf("beside a held priority a datagram takes %v (median), %v at most; one frame of that takes %v",
		took[probes/2], took[probes-1], oneFrame)
	assert.True(t, took[probes/2] <= 10*oneFrame,
		"half of the datagrams of another priority took more than %v, and one frame of the held one %v", took[probes/2],
		oneFrame)
	free()
	for i := range uint32(many) {
		if dscp, n := datagram(t, far); dscp != 26 || n != i {
			t.Fatalf("datagram %d with DSCP %d came, want number %d with DSCP 26", n, dscp, i)
		}
	}
	c := nicPort(t, d, "host").Counters
	assert.True(t, c.RingHoldNs == 0 && c.RingHoldBytes == 0 && c.LosslessDrops == [len(c.LosslessDrops)]uint64{} &&
		c.HostDrops == 0, "frames waited outside of their queues for %d ns (%d octets), or were lost: %v, %d",
		c.RingHoldNs, c.RingHoldBytes, c.LosslessDrops, c.HostDrops)
	assert.True(t, c.ReceivedFrames >= many+probes, "%d frames were read, want %d", c.ReceivedFrames, many+probes)
	var all dataplane.Snapshot
	eventually(t, "nothing is left", func() bool {
		d.Source().Snapshot(&all)
		return all.Buffer.Lossless.Used.Shared.Now == 0 && all.Buffer.Lossless.Used.Headroom.Now == 0 &&
			all.Buffer.Off == 0
	})
}

// Without a speed a host's GSO frames leave whole by the wire, in the priority tag that the TAP adds, and come in
// whole.
func TestTAPGSOFramesWhole(t *testing.T) {
	r := NewRig(t, 1)
	r.nic(1, "speed: none", "pcp")
	host, far := socketAt(t, r.Host(1), "nic0"), socketAt(t, r.Node, "p1")
	payload := gopacket.Payload(pattern(40*segment + 33))
	v4, v6 := ipv4Header(1, 2, 26, layers.IPProtocolTCP), ipv6Header(1, 2, layers.IPProtocolTCP)
	v6.TrafficClass = 26 << 2
	for _, f := range []gsoFrame{
		newGSOFrame("IPv4", Ethernet(1, 2, 0x0800, mustSerialize(v4, tcp(v4), payload)), frame.GSOTCPv4),
		newGSOFrame("IPv6", Ethernet(1, 2, 0x86dd, mustSerialize(v6, tcp(v6), payload)), frame.GSOTCPv6),
	} {
		tag := f
		tag.Data, tag.Vnet = Tagged(f.Data, 0x8100, 3<<13), f.Vnet.Shift(frame.TagOctets)
		for _, way := range []struct {
			name     string
			from, to *porttest.Socket
			want     gsoFrame
		}{{"out", host, far, tag}, {"in", far, host, f}} {
			t.Run(f.Name+" "+way.name, func(t *testing.T) {
				must(t, way.from.Send(f.Vnet, f.Data))
				got := nextLong(t, way.to)
				assert.True(t, bytes.Equal(got.Data, way.want.Data),
					"%d octets came, want %d:\n got %.100x\nwant %.100x", len(got.Data), len(way.want.Data), got.Data,
					way.want.Data)
				assert.True(t, sameOffload(got.Vnet, way.want.Vnet),
					"what is left to do\n got %+v\nwant %+v", got.Vnet, way.want.Vnet)
			})
		}
	}
}

// nextLong returns the next frame that is longer than what a host's stack sends by itself.
func nextLong(t *testing.T, s *porttest.Socket) porttest.Packet {
	t.Helper()
	for {
		if p := next(t, s); len(p.Data) > 1000 {
			return p
		}
	}
}
