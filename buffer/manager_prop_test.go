package buffer

import (
	"cmp"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A frame in the buffer, as its caller remembers it.
type frame struct {
	port int
	prio uint8
	n    int
}

// A machine is a Manager between random callers: each step is compared with the reference, and after each step
// everything has to be sound.
type machine struct {
	m        *Manager
	w        *wire
	config   Config
	ports    map[int]PortConfig
	lossless []frame
	lossy    []frame
	view     Snapshot
}

const machinePorts = 4 // all present from the start to the end, so that a snapshot's index is the port's number

var (
	drawCell  = rapid.SampledFrom([]int{1, 64, 100, 256, 1000})
	drawAlpha = rapid.SampledFrom([]float64{1.0 / 16, 1.0 / 4, 1, 2, 8, MaxAlpha})
	drawPort  = rapid.IntRange(0, machinePorts-1)
	drawPrio  = rapid.Uint8Range(0, Priorities-1)
	drawSize  = rapid.SampledFrom([]int{1, 60, 256, 257, 700, 1000, 1514, 1514, 1514, 2000, 3000})
	drawCount = rapid.SampledFrom([]int{0, 1, 2, 5, 10, 20}) // IntRange would favour the small
	drawQueue = rapid.Custom(func(t *rapid.T) QueueConfig {
		return QueueConfig{
			Private:   rapid.Int64Range(0, 3000).Draw(t, "private"),
			Headroom:  rapid.Int64Range(0, 6000).Draw(t, "headroom"),
			Xon:       rapid.Int64Range(0, 4000).Draw(t, "xon"),
			XonOffset: rapid.OneOf(rapid.Just[int64](NoXonOffset), rapid.Int64Range(0, 4000)).Draw(t, "xon_offset"),
			Xoff:      rapid.Int64Range(1, 8000).Draw(t, "xoff"),
			Alpha:     rapid.SampledFrom([]float64{0, 1.0 / 16, 1, 8}).Draw(t, "alpha"),
		}
	})
	drawPortConfig = rapid.Custom(func(t *rapid.T) PortConfig {
		pc := PortConfig{
			Mode: rapid.SampledFrom([]macctl.Mode{macctl.ModeOff, macctl.ModePFC, macctl.ModePFC, macctl.ModePFC,
				macctl.ModePause, macctl.ModePause}).Draw(t, "mode"),
			Lossless: rapid.SampledFrom([]uint8{0, 1 << 3, 1 << 3, 1<<3 | 1<<4, 1<<0 | 1<<3}).Draw(t, "lossless"),
			MTU:      rapid.IntRange(500, 2000).Draw(t, "MTU"),
		}
		for k := range pc.Queues {
			if pc.isIngress(uint8(k)) {
				pc.Queues[k] = drawQueue.Draw(t, "queue")
			}
			pc.LossyAlpha[k] = rapid.SampledFrom([]float64{0, 1.0 / 4, 2}).Draw(t, "lossy alpha")
		}
		return pc
	})
	drawConfig = rapid.Custom(func(t *rapid.T) Config {
		c := Config{
			Lossless: PoolConfig{Size: rapid.Int64Range(15_000, 50_000).Draw(t, "lossless"),
				Alpha: drawAlpha.Draw(t, "alpha")},
			Lossy: PoolConfig{Size: rapid.Int64Range(0, 20_000).Draw(t, "lossy"),
				Alpha: drawAlpha.Draw(t, "lossy alpha")},
			RingHold:  rapid.Bool().Draw(t, "ring hold"),
			Threshold: rapid.SampledFrom([]Threshold{nil, DynamicThreshold{}, StaticThreshold{}}).Draw(t, "threshold"),
			Headroom:  drawSharing.Draw(t, "sharing"),
		}
		if rapid.Bool().Draw(t, "follow") {
			c.Beside = rapid.Int64Range(1, 14_000).Draw(t, "beside")
		}
		c.Active = !c.Headroom.Dynamic && rapid.Bool().Draw(t, "active")
		return c
	})
	drawSharing = rapid.SampledFrom([]HeadroomSharing{{}, {}, {Ratio: 1}, {Ratio: 2}, {Ratio: 5}, {Size: 3000},
		{Dynamic: true}, {Dynamic: true}})
)

func TestManagerAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig.Draw(t, "config")
		c.Cell = drawCell.Draw(t, "cell")
		x := &machine{w: newWire(t), config: c, ports: map[int]PortConfig{}}
		var err error
		x.m, err = New(c, x.w)
		assert.MustNoError(t, err, "New")
		for port := range machinePorts {
			x.setPort(t, port, PortConfig{})
			x.setPort(t, port, drawPortConfig.Draw(t, "port"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"traffic":   x.traffic,
			"more":      x.traffic,
			"yet more":  x.traffic,
			"drain":     func(t *rapid.T) { x.depart(t, drawPort.Draw(t, "port"), len(x.lossless)) },
			"lossy":     x.lossyTraffic,
			"configure": x.configure,
			"watermark": x.watermark,
			"":          x.sound,
		})
		x.drain(t)
	})
}

// traffic admits to and releases from one queue at a time, mostly lossless ones.
func (x *machine) traffic(t *rapid.T) {
	for range drawCount.Draw(t, "rounds") {
		port, prio := drawPort.Draw(t, "port"), drawPrio.Draw(t, "prio")
		if pc := x.ports[port]; pc.Mode == macctl.ModePFC && pc.Lossless != 0 &&
			rapid.IntRange(0, 7).Draw(t, "any priority") > 0 {
			prio = uint8(bits.TrailingZeros8(pc.Lossless))
		}
		for range drawCount.Draw(t, "arrivals") {
			x.admit(t, frame{port, prio, drawSize.Draw(t, "octets")})
		}
		if rapid.Bool().Draw(t, "same port") {
			x.depart(t, port, drawCount.Draw(t, "departures"))
		} else {
			x.depart(t, drawPort.Draw(t, "port"), drawCount.Draw(t, "departures"))
		}
		if rapid.Bool().Draw(t, "sweep") {
			x.resume(t)
		}
	}
}

// depart releases up to n frames of a port, in no order of arrival.
func (x *machine) depart(t *rapid.T, port, n int) {
	t.Helper()
	var stay []frame
	for i := range x.lossless {
		f := x.lossless[len(x.lossless)-1-i]
		if f.port != port || n == 0 {
			stay = append(stay, f)
			continue
		}
		n--
		x.release(t, f)
	}
	x.lossless = stay
}

func (x *machine) admit(t *rapid.T, f frame) {
	pc := x.ports[f.port]
	queue := f.prio & pc.queueMask()
	if !pc.isIngress(queue) {
		assert.MustEqual(t, x.m.Admit(f.port, f.prio, f.n), NoQueue, "Admit(%+v)", f)
		return
	}
	rules, s := refOf(x.look(), x.config, f.port, int(queue))
	want, after := rules.admit(rules.bytes(f.n), s)
	got := x.m.Admit(f.port, f.prio, f.n)
	assert.MustEqual(t, got, want, "Admit(%+v)\nrules: %+v\nstate: %+v", f, rules, s)
	if got.Accepted() {
		x.lossless = append(x.lossless, f)
	}
	x.wantState(t, f.port, queue, after)
}

// look returns the state in storage that the next look overwrites.
func (x *machine) look() Snapshot {
	x.m.Snapshot(&x.view)
	return x.view
}

func (x *machine) wantState(t *rapid.T, port int, queue uint8, want refState) {
	t.Helper()
	_, got := refOf(x.look(), x.config, port, int(queue))
	assert.MustBeTrue(t, got == want, "port %d queue %d\n got: %+v\nwant: %+v", port, queue, got, want)
}

func (x *machine) release(t *rapid.T, f frame) {
	t.Helper()
	pc := x.ports[f.port]
	queue := f.prio & pc.queueMask()
	rules, s := refOf(x.look(), x.config, f.port, int(queue))
	x.m.Release(f.port, f.prio, f.n)
	x.wantState(t, f.port, queue, rules.release(rules.bytes(f.n), s))
}

// resume turns ON exactly those queues that may be. Turning one ON moves no threshold, so each is judged by itself.
func (x *machine) resume(t *rapid.T) {
	before := state(x.m)
	x.m.Resume()
	for port := range machinePorts {
		for k := range Priorities {
			rules, s := refOf(before, x.config, port, k)
			x.wantState(t, port, uint8(k), rules.resume(s))
		}
	}
}

// removeRandom removes a random frame.
func removeRandom(t *rapid.T, frames *[]frame) (frame, bool) {
	if len(*frames) == 0 {
		return frame{}, false
	}
	i := rapid.IntRange(0, len(*frames)-1).Draw(t, "frame")
	f := (*frames)[i]
	*frames = append((*frames)[:i], (*frames)[i+1:]...)
	return f, true
}

func (x *machine) lossyTraffic(t *rapid.T) {
	for range drawCount.Draw(t, "frames") {
		if rapid.Bool().Draw(t, "arrival") {
			x.admitLossy(t)
		} else if f, ok := removeRandom(t, &x.lossy); ok {
			x.m.ReleaseLossy(f.port, f.prio, f.n)
		}
	}
}

func (x *machine) admitLossy(t *rapid.T) {
	f := frame{drawPort.Draw(t, "port"), drawPrio.Draw(t, "queue"), drawSize.Draw(t, "octets")}
	s := x.look()
	held, used := s.Ports[f.port].Egress[f.prio].Used.Now, s.Lossy.Used.Shared.Now
	alpha := x.ports[f.port].LossyAlpha[f.prio]
	alpha = cmp.Or(alpha, x.config.Lossy.Alpha)
	free := x.config.Lossy.Size/int64(x.config.Cell)*int64(x.config.Cell) - used
	counts := refState{}
	for i := range s.Ports {
		if x.config.Active && i != f.port {
			counts.congestion += min(20_000, s.Ports[i].Egress[f.prio].Used.Now)
		}
	}
	n := refRules{cell: int64(x.config.Cell)}.bytes(f.n)
	want := n <= free && 16*(held+n) <= int64(16*alpha)*refRules{segment: free}.free(counts)
	assert.MustEqual(t, x.m.AdmitLossy(f.port, f.prio, f.n), want, "AdmitLossy(%+v): queue holds %d, free %d", f, held,
		free)
	if want {
		x.lossy = append(x.lossy, f)
	}
}

func (x *machine) watermark(t *rapid.T) {
	before := state(x.m).Lossless.Used.Shared
	switch rapid.IntRange(0, 1).Draw(t, "kind") {
	case 0:
		x.m.ClearUser()
		got, want := state(x.m).Lossless.Used.Shared, (Level{before.Now, before.Persistent, before.Now, before.Window})
		assert.MustBeTrue(t, got == want, "ClearUser\n got: %+v\nwant: %+v", got, want)
	case 1:
		x.m.RotateWindow()
		got := state(x.m).Lossless.Used.Shared
		want := Level{before.Now, before.Persistent, before.User, got.Window}
		assert.MustBeTrue(t, got == want && got.Window >= got.Now && got.Window <= got.Persistent,
			"RotateWindow\n got: %+v\nwant: %+v", got, want)
	}
}

func (x *machine) sound(t *rapid.T) {
	wantSound(t, x.m, x.w)
	var charged [machinePorts][Priorities]int64
	for _, f := range x.lossless {
		charged[f.port][f.prio] += refRules{cell: int64(x.config.Cell)}.bytes(f.n)
	}
	s := x.look()
	for port := range machinePorts {
		assert.MustEqual(t, x.m.ports[port].charged, charged[port], "charge of port %d, want its frames", port)
		for k, q := range s.Ports[port].Ingress {
			for _, l := range []Level{q.Used.Private, q.Used.Shared, q.Used.Headroom} {
				assert.MustBeTrue(t, l.Now <= l.User && l.User <= l.Persistent && l.Window <= l.Persistent,
					"port %d queue %d: watermarks %+v", port, k, l)
			}
		}
	}
}

// drain lets every frame leave. Then nothing is held and every queue is ON.
func (x *machine) drain(t *rapid.T) {
	for port := range machinePorts {
		x.depart(t, port, len(x.lossless))
		wantSound(t, x.m, x.w)
	}
	for _, f := range x.lossy {
		x.m.ReleaseLossy(f.port, f.prio, f.n)
	}
	x.m.Resume()
	wantEmpty(t, x.m, x.w)
	for _, p := range state(x.m).Ports {
		for k, q := range p.Ingress {
			assert.MustEqual(t, q.Xoff, q.Xon, "port %d queue %d: XOFFs, want as many as XONs", p.Port, k)
		}
	}
}
