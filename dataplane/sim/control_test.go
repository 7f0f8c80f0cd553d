package sim

import (
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/classify"
)

const fast = 10 * gigabit

// controlled is an incast of n senders into one link of 10G in the lossless priority, with or without DCQCN, through a
// switch with 1 MiB of shared buffer that marks as preset roce does.
func controlled(tb reporter, n int, on bool, length int64) (r *rig, sw int) {
	r = newRig(tb, fast, 500)
	r.change = func(_ *dataplane.Config, ports map[int]dataplane.PortConfig) {
		for i, p := range ports {
			p.ECN[lossless] = dataplane.ECN{Kmin: 64 << 10, Kmax: 256 << 10, Pmax: .1}
			ports[i] = p
		}
	}
	sw = r.addSwitch(n+2, 1<<20/cell, mtu, nil)
	to := r.addHost(sw, n)
	for i := range n {
		r.load(FlowConfig{From: r.addHost(sw, i), To: to, Priority: lossless, Octets: mtu, Stop: length, DCQCN: on})
	}
	return r, sw
}

// paused is how long all hosts were paused, in ns.
func (r *rig) paused() (ns int64) {
	for i := range r.nodes {
		if r.nodes[i].host != nil {
			ns += r.Host(i).PausedNs[lossless]
		}
	}
	return ns
}

// rates returns the rates of all flows from one time of theirs to another, in bit/s on the wire.
func (r *rig) rates(from, until int64) (rates []int64, sum int64) {
	r.Advance(from)
	before := make([]uint64, len(r.flows))
	for i := range r.flows {
		before[i] = r.Flow(i).Received
	}
	r.Advance(until)
	for i := range r.flows {
		frames := int64(r.Flow(i).Received - before[i])
		rates = append(rates, scale(frames*(mtu+24)*8, nsPerSecond, until-from))
		sum += rates[i]
	}
	return rates, sum
}

// With DCQCN the senders of an incast are paused while they begin and never after, and the link stays full.
func TestDCQCNSparesPauses(t *testing.T) {
	const n, length = 8, 200 * ms
	plain, sw := controlled(t, n, false, length)
	plain.start()
	plain.Advance(length)
	r, _ := controlled(t, n, true, length)
	r.start()
	r.Advance(length / 10)
	atFirst, xoffs := r.paused(), r.xoffs(sw)
	_, sum := r.rates(length/2, length)
	assert.True(t, sum >= fast*95/100, "%d bit/s in all, of %d", sum, int64(fast))
	assert.True(t, atFirst != 0, "no sender was paused at first: the test proves little")
	assert.True(t, r.xoffs(sw) == xoffs && r.paused() == atFirst,
		"senders were paused for %d ns by %d XOFFs, and later for %d by %d", atFirst, xoffs, r.paused(), r.xoffs(sw))
	assert.True(t, r.xoffs(sw)*100 <= plain.xoffs(sw) && r.paused()*100 <= plain.paused(),
		"%d XOFFs, paused for %d ns; without DCQCN %d and %d: want less than a hundredth", r.xoffs(sw), r.paused(),
		plain.xoffs(sw), plain.paused())
	r.Advance(never - r.Begun())
	r.kept()
	r.notified(sw)
	fl := &r.flows[0]
	for _, c := range []struct {
		after int64
		want  bool
	}{{0, true}, {fl.control.interval - 1, false}, {fl.control.interval, true}} {
		assert.Equal(t, fl.marked(r.now+ms+c.after), c.want, "a CNP %d ns after another", c.after)
	}
}

// The way of a flow with DCQCN is that of its IPv4 frames. A port that trusts DSCP gives them the priority of DSCP 0,
// and others its own.
func TestDCQCNPathIsThatOfIPv4(t *testing.T) {
	for _, on := range []bool{false, true} {
		r := newRig(t, fast, 500)
		r.change = func(_ *dataplane.Config, ports map[int]dataplane.PortConfig) {
			for i, p := range ports {
				p.Classify.Trust, p.Classify.Default = classify.TrustDSCP, lossless
				ports[i] = p
			}
		}
		sw := r.addSwitch(2, 1<<20/cell, mtu, nil)
		r.load(FlowConfig{From: r.addHost(sw, 0), To: r.addHost(sw, 1), Priority: lossless, Octets: mtu, Stop: ms,
			DCQCN: on})
		assert.Must(t, r.Learn())
		_, fault := r.Path(0)
		assert.True(t, (fault != nil) == on, "DCQCN %v: %+v", on, fault)
	}
}

// A flow that was cut to very little looks again when its rate rises, not when a frame would be due.
func TestDCQCNLooksWhenTheRateRises(t *testing.T) {
	r, _ := controlled(t, 1, true, 1000*ms)
	r.start()
	fl := &r.flows[0]
	for range 20 {
		fl.notified(r.now)
	}
	fl.build(&transit{}, 0, r.now)
	fl.build(&transit{}, 0, r.now)
	if due, next := fl.due(r.now), fl.control.point.Next(); due != next || due >= fl.meter.When(fl.wire, r.now) {
		t.Errorf("due at %d, the rate rises at %d, a frame is due at %d", due, next, fl.meter.When(fl.wire, r.now))
	}
}

// notified fails unless each mark of a switch has come to a receiver, there are CNPs, and none is lost.
func (r *rig) notified(sw int) {
	r.tb.Helper()
	marked := uint64(0)
	for i := range r.flows {
		v := r.Flow(i).DCQCN
		marked += v.Marked
		assert.True(r.tb, v.Sent != 0 && v.Received <= v.Sent && v.Received+1 >= v.Sent && v.Sent <= v.Marked,
			"flow %d: %+v", i, v)
		assert.True(r.tb, v.Rate < fast, "flow %d: nothing slows it down", i)
	}
	set, cnps := uint64(0), uint64(0)
	for _, p := range r.look(sw).Ports {
		set += p.Counters.Marked[lossless]
		cnps += p.Counters.QueueSent[6]
	}
	assert.True(r.tb, set == marked && cnps != 0,
		"the switch marked %d frames, %d came; it sent %d in the priority of CNPs", set, marked, cnps)
}

// PFC alone shares by port: a sender that has its port for itself gets three times what each of three behind another
// switch gets. With DCQCN all get the same.
//
// The bound is four standard deviations. A rate falls by α/2 with each CNP, of which λ come in a second, and goes back
// to the mean as exp(-λαt): so its relative variance is α/8, and that of the mean over W seconds 2/(λαW) of it. Here λ
// is 640 (measured), α = 0.12 (one gain of 1/256 in 7 decays of 1/256) and W = 0.2: 4.4 %.
func TestDCQCNSharesFairly(t *testing.T) {
	for _, c := range []struct {
		on    bool
		want  [4]int64
		bound int64 // percent
	}{
		{false, [4]int64{fast / 2, fast / 6, fast / 6, fast / 6}, 2},
		{true, [4]int64{fast / 4, fast / 4, fast / 4, fast / 4}, 18},
	} {
		r, sw := controlled(t, 1, c.on, 300*ms) // its sender is node 2, its receiver node 1
		first := r.addSwitch(4, 1<<20/cell, mtu, nil)
		r.join(End{first, 3}, End{sw, 2})
		for i := range 3 {
			r.load(FlowConfig{From: r.addHost(first, i), To: 1, Priority: lossless, Octets: mtu, Stop: 300 * ms,
				DCQCN: c.on})
		}
		r.start()
		rates, _ := r.rates(100*ms, 300*ms)
		for i, rate := range rates {
			if d := rate - c.want[i]; d*100 > c.want[i]*c.bound || -d*100 > c.want[i]*c.bound {
				t.Errorf("DCQCN %v: flow %d: %d bit/s, want %d up to %d %%", c.on, i, rate, c.want[i], c.bound)
			}
		}
		r.Advance(never - r.Begun())
		r.kept()
	}
}
