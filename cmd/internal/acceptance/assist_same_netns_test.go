package acceptance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// A sameRun is what a person can see of a switch after some traffic.
type sameRun struct {
	arrived  [4]map[string][]sameFrame // what came to a host, by addresses, first tag and what follows
	counters [4]dataplane.Counters
	stations map[string]bool
	fast     uint64 // frames that took the fast path
}

// A sameFrame is a frame that arrived.
type sameFrame struct {
	number uint32
	octets int
	vnet   frame.VnetHeader
}

// The same random traffic meets the same switch with and without the programs in the kernel: the same frames arrive, in
// the same order, and all counters and tables say the same. The traffic has known and unknown stations, broadcasts,
// stations that move, VLANs that ports carry with and without a tag, priority tags, tags that change on the way, two
// tags, frames to where they came from, lossless and lossy priorities, DSCPs, frames of tunnels and of protocols that
// end at the switch, GSO frames, and frames above the MTU of where they go.
func TestNobodyNoticesTheFastPath(t *testing.T) {
	needAssist(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, trust := range []string{"pcp", "dscp"} {
		t.Run(trust, func(t *testing.T) {
			var runs [2]sameRun
			for i, keys := range []string{"assist: off\n", "assist: auto\n"} {
				t.Run(keys, func(t *testing.T) { runs[i] = runSame(t, keys, trust, seed) })
			}
			off, auto := &runs[0], &runs[1]
			assert.True(t, off.fast == 0 && auto.fast >= 50,
				"fast path: %d frames without the programs, %d with them", off.fast, auto.fast)
			for n := range off.arrived {
				for flow, want := range off.arrived[n] {
					if got := auto.arrived[n][flow]; !reflect.DeepEqual(got, want) {
						t.Errorf("h%d, from %s: got frames %v, want %v", n+1, flow, got, want)
					}
				}
				assert.Equal(t, len(auto.arrived[n]), len(off.arrived[n]), "h%d: flows that frames came of", n+1)
				got, want := auto.counters[n], off.counters[n]
				assert.True(t, got == want, "p%d:\ngot  %+v\nwant %+v", n+1, got, want)
			}
			assert.True(t, reflect.DeepEqual(auto.stations, off.stations),
				"stations:\ngot  %v\nwant %v", auto.stations, off.stations)
		})
	}
}

// runSame runs a switch with the traffic of a seed.
func runSame(t *testing.T, keys, trust string, seed uint64) (run sameRun) {
	r := Start(t, 4, Setup{MTU: 4000, Keys: "fdb: []\npriorities: {lossless: [3], trust: " + trust + "}\n" + keys,
		Each: "speed: none, loop: off, storm: off", Ports: map[int]string{1: "mtu: 4000, tagged: [10]",
			2: "mtu: 2000, tagged: [10, 20]", 3: "mtu: 4000, tagged: [10], pvid: 20",
			4: "mtu: 4000, tagged: [20], pvid: 10"}})
	var hosts [4]*porttest.Socket
	for n := range hosts {
		hosts[n] = r.Socket(n + 1)
		run.arrived[n] = map[string][]sameFrame{}
	}
	random := rand.New(rand.NewPCG(seed, 1))
	defer onOneCPU(t)() // else the kernel itself changes the order of frames
	sent, last := uint64(0), 0
	for number := uint32(0); number < 2400; {
		w := randomWay(random, int(number/1200))
		if w.host != last { // frames of two ports have no order, and what the bridge learns depends on it
			r.received(sent)
		}
		last = w.host
		for i := range 1 + random.IntN(24) {
			if i == 3 { // the switch knows the way: let it open the fast path
				r.received(sent)
				time.Sleep(time.Millisecond)
			}
			b, vnet, counted := w.frame(random)
			binary.BigEndian.PutUint32(b[len(b)-4:], number)
			must(t, hosts[w.host].Send(vnet, b))
			if number++; counted {
				sent++
			}
		}
		run.collect(hosts)
	}
	r.received(sent)
	r.Settle()
	time.Sleep(20 * time.Millisecond)
	run.collect(hosts)
	run.stations = map[string]bool{}
	for _, e := range r.Source().FDB() {
		run.stations[fmt.Sprintf("%012x vlan %d port %d", e.MAC, e.VID, e.Port)] = true
	}
	for n := range hosts {
		c := r.Snapshot(n + 1).Counters
		for _, f := range c.Forwarded {
			run.fast += f
		}
		run.counters[n] = visible(c)
	}
	return run
}

// onOneCPU keeps the caller on one CPU until the returned function is called.
func onOneCPU(t *testing.T) (end func()) {
	t.Helper()
	runtime.LockOSThread()
	var before, one unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &before))
	for cpu := range len(before) * 64 {
		if before.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	must(t, unix.SchedSetaffinity(0, &one))
	return func() {
		must(t, unix.SchedSetaffinity(0, &before))
		runtime.UnlockOSThread()
	}
}

// received waits until the switch has taken n frames.
func (r *Rig) received(n uint64) {
	r.T.Helper()
	var s dataplane.Snapshot
	eventually(r.T, fmt.Sprintf("the switch has received %d frames", n), func() bool {
		r.Source().Snapshot(&s)
		got := uint64(0)
		for i := range s.Ports {
			got += s.Ports[i].Counters.ReceivedFrames
		}
		return got == n
	})
}

// visible are the counters that do not depend on how many frames wait at the same time.
func visible(c dataplane.Counters) dataplane.Counters {
	c.Forwarded, c.AssistXoffs, c.QueueBytesMax, c.RingFramesMax = [8]uint64{}, 0, [8]int64{}, 0
	c.LoopProbesSent, c.LoopProbesReceived = 0, [bridge.NumProbeVerdicts]uint64{}
	return c
}

// A sameWay is what the frames of a burst have in common.
type sameWay struct {
	host     int // that sends, 0 to 3
	from, to int // numbers of stations; 0xff is everybody
	tags     []uint16
}

func randomWay(random *rand.Rand, home int) sameWay {
	w := sameWay{host: random.IntN(4), to: []int{1, 2, 3, 4, 9, 0xff}[random.IntN(6)], tags: randomTags(random)}
	w.from = w.host + 1
	if w.host == home && random.IntN(4) == 0 {
		w.from = 9 // it moves once: how long a station that moves often is held is a matter of time
	}
	return w
}

// frame returns a frame whose last four octets are free, and whether the switch counts such frames.
func (w *sameWay) frame(random *rand.Rand) (b []byte, vnet frame.VnetHeader, counted bool) {
	etherType, payload, vnet := randomPayload(random, w.from, w.to)
	b = Ethernet(w.from, w.to, etherType, payload)
	if w.to == 0xff {
		copy(b, bytes.Repeat([]byte{0xff}, 6))
	}
	control := len(w.tags) < 4 && (etherType == macctl.EtherType || etherType == frame.TypeLLDP)
	return Tagged(b, w.tags...), vnet.Shift(2 * len(w.tags)), !control
}

// randomPayload returns what follows the addresses and tags of a frame.
func randomPayload(random *rand.Rand, from, to int) (etherType uint16, payload []byte, vnet frame.VnetHeader) {
	switch random.IntN(12) {
	case 0: // a tunnel: VXLAN
		return frame.TypeIPv4, vxlan(IPv4UDP(from, to, 0, 200)), vnet
	case 1: // encrypted: MACsec
		return 0x88e5, append([]byte{0x2c, 0, 0, 0, 0, 1}, pattern(200)...), vnet
	case 2: // it ends at the switch
		return frame.TypeLLDP, pattern(60), vnet
	case 3: // likewise, and says nothing
		return macctl.EtherType, make([]byte, 60), vnet
	case 4: // likewise: the headroom of a link is measured so
		format := macctl.MeasurementFormat{Opcode: 0xfffe, Identifier: [3]byte{0x02, 0x50, 0x46}, Fallback: 0x88b5}
		b := format.Append(nil, [6]byte(HostMAC(to)), [6]byte(HostMAC(from)), true, macctl.Measurement{})
		return NumberedType, b[14:], vnet
	case 5: // segmentation is left to do, and segments may be longer than the MTU of where they go
		g := gsoFrames()[random.IntN(2)]
		g.Vnet.GSOSize = []uint16{1400, 2500}[random.IntN(2)]
		return binary.BigEndian.Uint16(g.Data[12:]), g.Data[14:], g.Vnet
	}
	payload = make([]byte, []int{46, 100, 1400, 2500}[random.IntN(4)])
	if random.IntN(2) == 0 {
		return NumberedType, payload, vnet
	}
	payload[0], payload[1] = 0x45, []byte{0, 24 << 2, 46 << 2}[random.IntN(3)]
	return frame.TypeIPv4, payload, vnet
}

// vxlan returns the packet of a tunnel that carries a frame.
func vxlan(inner []byte) []byte {
	b := IPv4UDP(1, 2, 0, 8+len(inner))[14:]
	binary.BigEndian.PutUint16(b[22:], 4789)
	return append(append(b[:28:28], 8, 0, 0, 0, 0, 0, 1, 0), inner...)
}

// randomTags returns the tags of a frame.
func randomTags(random *rand.Rand) []uint16 {
	tci := []uint16{0, 0x6000, 10, 20, 0x600a, 0x6014, 30}[random.IntN(7)]
	switch n := random.IntN(10); {
	case n == 0:
		return []uint16{frame.TypeServiceTag, tci, frame.TypeVLAN, 77}
	case n == 1:
		return []uint16{frame.TypeVLAN, tci, frame.TypeVLAN, 77}
	case tci == 0:
		return nil
	}
	return []uint16{frame.TypeVLAN, tci}
}

// collect reads what has arrived.
func (run *sameRun) collect(hosts [4]*porttest.Socket) {
	for n, h := range hosts {
		for {
			p, err := h.Receive(0)
			if err != nil {
				break
			}
			b := p.Data
			if len(b) < 60 || bytes.HasPrefix(b[6:], PortMAC(0)[:5]) || b[6] != 2 {
				continue // of the switch itself, or of a host's kernel
			}
			flow := fmt.Sprintf("%x", b[:20]) // where there is a DSCP, this has it
			run.arrived[n][flow] = append(run.arrived[n][flow],
				sameFrame{binary.BigEndian.Uint32(b[len(b)-4:]), len(b), p.Vnet})
		}
	}
}
