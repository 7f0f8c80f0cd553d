package sim

import (
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// The switch of the DSH paper: 32 ports of 100 Gbit/s on links of 2 µs, 7 lossless priorities, 16 MB, α = 1/16,
// φ = 3072 B, η = 56,840 B.
const (
	paperPorts = 32
	paperSpeed = 100 * gigabit
	paperEta   = 56_840
	paperPool  = 16_000_000
)

// paperIncast is that switch with so much of a pool, and senders of so many of its lossless priorities from number 3 on
// to one receiver. Each queue that finds no room loses frames.
func paperIncast(t *testing.T, pool int64, senders, priorities int, b buffer.Config) (r *rig, sw int) {
	t.Helper()
	r = newRig(t, paperSpeed, 2000)
	r.change = func(c *dataplane.Config, ports map[int]dataplane.PortConfig) {
		c.Lossless, c.Buffer.Headroom, c.Buffer.Active = 0x7f, b.Headroom, b.Active
		c.Buffer.Lossless = buffer.PoolConfig{Size: pool, Alpha: 1.0 / 16}
		for i, p := range ports {
			p.Lossless = c.Lossless
			for q := range p.Ingress {
				p.Ingress[q] = buffer.QueueConfig{Private: 3072, Headroom: paperEta, XonOffset: 8 * cell}
			}
			ports[i] = p
		}
	}
	sw = r.addSwitch(paperPorts, 0, mtu, nil)
	receiver := r.addHost(sw, 0)
	for i := range senders {
		from := r.addHost(sw, i+1)
		for prio := range priorities {
			r.load(FlowConfig{From: from, To: receiver, Priority: lossless + uint8(prio), Octets: mtu, Stop: ms / 5})
		}
	}
	r.start()
	return r, sw
}

// burst returns how many octets so many senders send to one receiver until the switch sends the first XOFF. They go on
// and obey, and nothing may be lost.
func burst(t *testing.T, senders int, b buffer.Config) (octets uint64) {
	t.Helper()
	r, sw := paperIncast(t, paperPool, senders, 1, b)
	for r.xoffs(sw) == 0 {
		assert.MustBeTrue(t, !r.AdvanceBy(never-r.Begun(), 64), "no sender was held: the test proves nothing")
	}
	for i := range r.flows {
		octets += r.Flow(i).Sent * mtu
	}
	r.Advance(never - r.Begun())
	r.kept()
	return octets
}

// Dynamic and shared headroom absorbs larger bursts before the first PFC frame than static headroom, as the paper says,
// and loses nothing either.
func TestDynamicHeadroomAbsorbsMore(t *testing.T) {
	for _, senders := range []int{2, 16} {
		static := burst(t, senders, buffer.Config{})
		pool := burst(t, senders, buffer.Config{Headroom: buffer.HeadroomSharing{Ratio: 4}})
		dynamic := burst(t, senders, buffer.Config{Headroom: buffer.HeadroomSharing{Dynamic: true}})
		t.Logf("%2d senders: %7d octets before the first XOFF with static headroom, %7d (%.1f x) with a pool of a "+
			"quarter, %7d (%.1f x) with dsh", senders, static, pool, float64(pool)/float64(static), dynamic,
			float64(dynamic)/float64(static))
		assert.True(t, dynamic >= static && pool >= static,
			"static headroom absorbs %d, a pool %d, dsh %d", static, pool, dynamic)
	}
}

// Queues that share by congestion and rate hold their senders earlier than alone each would, and lose nothing either.
func TestActiveThresholdsLoseNothing(t *testing.T) {
	dynamic, active := burst(t, 16, buffer.Config{}), burst(t, 16, buffer.Config{Active: true})
	assert.True(t, active < dynamic, "16 senders bring %d octets before the first XOFF, with dt %d", active, dynamic)
}

// Where the shared segment is so small that every port stops as a whole, its insurance holds what is under way.
func TestInsuranceHoldsWhatIsUnderWay(t *testing.T) {
	const reserved = paperPorts * (paperEta + cell + 7*3072)
	r, sw := paperIncast(t, reserved+paperPorts*7*2*1536, 8, 4,
		buffer.Config{Headroom: buffer.HeadroomSharing{Dynamic: true}})
	r.Advance(never - r.Begun())
	r.kept()
	if l := r.look(sw).Buffer.Lossless; l.Used.Headroom.Persistent < paperEta {
		t.Errorf("at most %d of %d octets of all insurances were used: the test proves nothing",
			l.Used.Headroom.Persistent, l.HeadroomSize)
	}
}
