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
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// A sameRun is what a person can see of a switch after some traffic.
type sameRun struct {
	arrived  [4]map[string][]uint32 // numbers of the frames that came to a host, by source and priority
	counters [4]dataplane.Counters
	stations map[string]bool
	fast     uint64 // frames that took the fast path
}

// The same random traffic meets the same switch with and without the programs in the kernel: the same frames arrive, in
// the same order, and all counters and tables say the same. The traffic has known and unknown stations, broadcasts,
// stations that move, VLANs that ports carry with and without a tag, priority tags, tags that change on the way, frames
// to where they came from, lossless and lossy priorities, DSCPs, and long frames.
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
			if off.fast != 0 || auto.fast < 100 {
				t.Errorf("fast path: %d frames without the programs, %d with them", off.fast, auto.fast)
			}
			for n := range off.arrived {
				for flow, want := range off.arrived[n] {
					if got := auto.arrived[n][flow]; !reflect.DeepEqual(got, want) {
						t.Errorf("h%d, from %s: got frames %v, want %v", n+1, flow, got, want)
					}
				}
				if got, want := len(auto.arrived[n]), len(off.arrived[n]); got != want {
					t.Errorf("h%d: got frames of %d flows, want %d", n+1, got, want)
				}
				if got, want := auto.counters[n], off.counters[n]; got != want {
					t.Errorf("p%d:\ngot  %+v\nwant %+v", n+1, got, want)
				}
			}
			if !reflect.DeepEqual(auto.stations, off.stations) {
				t.Errorf("stations:\ngot  %v\nwant %v", auto.stations, off.stations)
			}
		})
	}
}

// runSame runs a switch with the traffic of a seed.
func runSame(t *testing.T, keys, trust string, seed uint64) (run sameRun) {
	r := Start(t, 4, Setup{MTU: 4000, Keys: "fdb: []\npriorities: {lossless: [3], trust: " + trust + "}\n" + keys,
		Each: "speed: none, mtu: 4000, loop: off, storm: off", Ports: map[int]string{
			1: "tagged: [10]", 2: "tagged: [10, 20]", 3: "tagged: [10], pvid: 20", 4: "tagged: [20], pvid: 10"}})
	var hosts [4]*porttest.Socket
	for n := range hosts {
		hosts[n] = r.Socket(n + 1)
		run.arrived[n] = map[string][]uint32{}
	}
	random := rand.New(rand.NewPCG(seed, 1))
	defer onOneCPU(t)() // else the kernel itself changes the order of frames
	sent, last := uint64(0), 0
	for number := uint32(0); number < 1500; {
		from, b := randomFrame(random, int(number/750))
		if from != last { // frames of two ports have no order, and what the bridge learns depends on it
			r.received(sent)
		}
		last = from
		for i := range 1 + random.IntN(24) { // frames of one flow in a row
			if i == 3 { // the switch knows the flow: let it open the way
				r.received(sent)
				time.Sleep(time.Millisecond)
			}
			binary.BigEndian.PutUint32(b[len(b)-4:], number)
			must(t, hosts[from].Send(complete, b))
			number, sent = number+1, sent+1
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

// randomFrame returns a frame of a host, 0 to 3, whose last four octets are free. Station 9 is behind host home.
func randomFrame(random *rand.Rand, home int) (from int, b []byte) {
	from = random.IntN(4)
	to := []int{1, 2, 3, 4, 9, 0xff}[random.IntN(6)]
	source := from + 1
	if from == home && random.IntN(4) == 0 {
		source = 9 // it moves once: how long a station that moves often is held is a matter of time
	}
	payload := make([]byte, []int{46, 100, 1400, 2500}[random.IntN(4)])
	etherType := uint16(NumberedType)
	if random.IntN(2) == 0 {
		etherType, payload[0], payload[1] = 0x0800, 0x45, []byte{0, 24 << 2, 46 << 2}[random.IntN(3)]
	}
	b = Ethernet(source, to, etherType, payload)
	if to == 0xff {
		copy(b, bytes.Repeat([]byte{0xff}, 6))
	}
	if tci := []uint16{0, 0x6000, 10, 20, 0x600a, 0x6014, 30}[random.IntN(7)]; tci != 0 {
		b = Tagged(b, 0x8100, tci)
	}
	return from, b
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
			if len(b) < 60 || b[6] != 2 || binary.BigEndian.Uint16(b[12:]) == macctl.EtherType {
				continue // of the switch itself
			}
			head := b[:18]
			flow := fmt.Sprintf("%x", head)
			run.arrived[n][flow] = append(run.arrived[n][flow], binary.BigEndian.Uint32(b[len(b)-4:]))
		}
	}
}
