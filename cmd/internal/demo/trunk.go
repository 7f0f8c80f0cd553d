package demo

import (
	"context"
	"fmt"
	"math"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// meteredLimit is how far meters on real links may differ from those in virtual time.
const meteredLimit = 0.05

// trunkMembers is the number of slow ports of a trunk. The uplink is as fast as two of them.
const trunkMembers = 3

// memberSpeed is the speed of a trunk's members where the phase's is that of the uplink.
func (p *phase) memberSpeed() int64 { return p.speed / 2 }

// Trunk runs the phases of demo trunk: (1) meters on lossy priorities, beside the same load in virtual time; (2) a
// lossless priority of members that are faster than the uplink, and of an uplink that is faster than the members; (3) a
// stream that is distributed to members and collected again, by the octets that members hold and by flow. Errors are as
// those of Incast.
func Trunk(ctx context.Context, o Options) (*Report, error) {
	r := newReport("trunk", o)
	if err := r.calibrate(ctx, &o, &phase{build: (*phase).buildByFill}); err != nil { // the heaviest
		return r.finish(err)
	}
	return r.finish(performPhases(ctx, o, trunkPhases(o), r))
}

func trunkPhases(o Options) []*phase {
	all := []*phase{
		{name: "1", title: "three members, one uplink: lossy priorities are metered", build: (*phase).buildMetering,
			judge: (*phase).judgeMetering},
		{name: "2a", title: "three saturated members, one uplink: watermarks hold members, a lossless priority loses " +
			"nothing", build: (*phase).buildHolding, judge: (*phase).judgeHolding},
		{name: "2b", title: "and back: a saturated uplink, three members that are slower together: watermarks hold " +
			"the uplink", build: (*phase).buildHoldingUplink, judge: (*phase).judgeHoldingUplink},
		{name: "3a", title: "the uplink's frames are distributed to the least filled member, and collected again",
			build: (*phase).buildByFill, judge: (*phase).judgeDistribution},
		{name: "3b", title: "the same by flow: order within each is kept", build: (*phase).buildByFlow,
			judge: (*phase).judgeDistribution},
	}
	for _, p := range all {
		p.seconds, p.speed, p.lead = o.load(), o.Speed, startDelay
	}
	return o.keepLast("2a", all)
}

// addTrunkSwitch makes a switch whose ports p1, p2, p3 and up are a trunk. Its lossy pool is deep: meters and RED are
// shown, and no threshold, which would drop where the machine is too busy to send in time.
func (p *phase) addTrunkSwitch(name, settings string) *switchNode {
	return p.addSwitch(name, "priorities: {lossless: [3]}\nbuffer: {lossy: {size: 4MiB}}\n"+
		"trunks: {up: {uplink: up, members: [p1, p2, p3], "+settings+"}}\n")
}

// buildMembers makes a switch with hosts behind its trunk's ports: senders behind members, the receiver behind the
// uplink.
func (p *phase) buildMembers(settings string, flows [trunkMembers]string) {
	s := p.addTrunkSwitch("s1", settings)
	for i, flow := range flows {
		h := p.addHost(fmt.Sprintf("h%d", i+1), s, fmt.Sprintf("p%d", i+1), p.memberSpeed(), nil)
		p.addSender(h, "h4", sends(flow))
	}
	p.addSink(p.addHost("h4", s, "up", p.speed, nil), nil)
}

// The priorities of phase 1, one a member, and what each offers as a share of the member's speed: above its peak rate,
// between its rates, below its committed one. Together they pass less than the uplink's speed, so that the total lets
// them.
var metered = [trunkMembers]struct {
	priority          uint8
	offered, cir, pir float64
	what              string
}{
	{1, 0.9, 0.2, 0.4, "above its peak rate"},
	{2, 0.9, 0.7, 1.2, "between its rates"},
	{4, 0.6, 1.0, 1.2, "below its committed rate"},
}

// fullFrame is the length of a full frame with a tag, without FCS.
const fullFrame = largeFrame - frame.FCSOctets

func (p *phase) buildMetering() {
	meters := ""
	var flows [trunkMembers]string
	share := func(n float64) int64 { return int64(n * float64(p.memberSpeed())) }
	for i, m := range metered {
		meters += fmt.Sprintf("%d: {cir: %d, pir: %d}, ", m.priority, share(m.cir), share(m.pir))
		flows[i] = fmt.Sprintf("%d:octets=%d,rate=%d", m.priority, fullFrame, share(m.offered))
	}
	p.buildMembers("meters: {"+meters+"}", flows)
}

// trunk is the answer of a switch about its trunk.
func (s *switchNode) trunk() *api.Trunk { return &s.state.trunks.Trunks[0] }

func (p *phase) judgeMetering() {
	t := p.switches[0].trunk()
	model := p.modelMetering(t)
	var offered, accounted uint64
	for i, m := range metered {
		at := &t.Priorities[m.priority]
		row := Metered{Phase: p.name, Priority: m.priority, What: m.what, CIR: at.Meter.CIR, PIR: at.Meter.PIR,
			Real:  outcome{Green: at.Green.Frames, Yellow: at.Yellow.Frames, Red: at.Red.Frames},
			Model: model[m.priority]}
		links := &row.Real
		for _, f := range p.flows {
			if f.Priority == m.priority {
				links.Offered, links.Delivered = f.Sent, f.Received
			}
		}
		p.report.Meters = append(p.report.Meters, row)
		p.compareWithModel(&row)
		offered += links.Offered
		accounted += links.Delivered + at.MeterDropped.Frames + at.REDDropped.Frames
		name := fmt.Sprintf("priority %d", m.priority)
		p.some(TopicLoss, name+": frames that arrive", links.Delivered)
		name += ", " + m.what
		if i == len(metered)-1 {
			lost := links.Offered - min(links.Delivered, links.Offered)
			p.soft(TopicLoss, name+": frames lost", "0", fmt.Sprint(lost), float64(lost)/float64(max(1, links.Offered)))
		} else {
			p.shows(name+": frames that are not green", links.Yellow+links.Red,
				p.offeredRate(links.Offered) > (1+overLimit)*m.cir*float64(p.memberSpeed()))
		}
	}
	p.equal(TopicCounters, "offered = delivered + dropped by meter, RED and rings", offered, accounted+p.ringDrops())
	p.checkCounters()
}

// ringDrops are the frames lost in full rings of the switches and the receiver.
func (p *phase) ringDrops() uint64 {
	n := p.sinks[0].received.RingLossless + p.sinks[0].received.RingOther
	for _, s := range p.switches {
		for _, port := range s.ports {
			n += s.ringDrops(port.name)
		}
	}
	return n
}

// offeredRate is that of so many full frames in the phase's time, in bit/s on the wire.
func (p *phase) offeredRate(frames uint64) float64 {
	return float64(frames) * float64(frame.WireOctets(fullFrame)) * 8 / p.seconds.Seconds()
}

// compareWithModel compares the colours of a priority's frames with those in virtual time, from a sender with an even
// rate. While a real sender stalls, its meter's bucket overflows, and the burst after the stall finds fewer tokens. The
// difference is at most the load of the stall.
func (p *phase) compareWithModel(m *Metered) {
	for _, n := range []struct {
		what      string
		want, got uint64
	}{
		{"delivered", m.Model.Delivered, m.Real.Delivered},
		{"green", m.Model.Green, m.Real.Green},
		{"yellow", m.Model.Yellow, m.Real.Yellow},
		{"red", m.Model.Red, m.Real.Red},
	} {
		want, got := float64(n.want), float64(n.got)
		p.soft(TopicRate, fmt.Sprintf("priority %d, %s: %s frames", m.Priority, m.What, n.what),
			fmt.Sprintf("%d within %.0f %%", n.want, 100*meteredLimit), fmt.Sprint(n.got),
			(math.Abs(got-want)-meteredLimit*want)/float64(max(1, m.Real.Offered)))
	}
}

// modelMetering runs what the senders sent, evenly spaced, through the meters that the switch has in force.
func (p *phase) modelMetering(t *api.Trunk) [trunk.NumPriorities]outcome {
	c := trunk.AggregatorConfig{Members: trunkMembers, Metered: t.Metered, Lossless: 1 << losslessPriority,
		Total: profile(t.Total.Meter)}
	for priority := range c.Meters {
		c.Meters[priority] = profile(t.Priorities[priority].Meter)
	}
	var offers []offer
	for i, e := range p.senders {
		for _, f := range e.sent.Flows {
			offers = append(offers, offer{member: i, priority: f.Priority, frames: f.Sent, octets: fullFrame,
				elapsed: e.sent.Elapsed})
		}
	}
	return meterModel(c, offers, p.speed)
}

func profile(m *api.TrunkMeter) trunk.MeterConfig {
	if m == nil {
		return trunk.MeterConfig{}
	}
	return trunk.MeterConfig{CIR: m.CIR, PIR: m.PIR, CBS: m.CBS, PBS: m.PBS}
}

// trunkMarks are the watermarks of phase 2, one way or the other.
const trunkMarks = "watermarks: {%s: {3: {high: 256KiB, low: 128KiB}}}"

func (p *phase) buildHolding() {
	p.buildMembers(fmt.Sprintf(trunkMarks, "priority"), [trunkMembers]string{"3", "3", "3"})
}

func (p *phase) judgeHolding() {
	p.checkLossless()
	t := &p.switches[0].trunk().Priorities[losslessPriority]
	p.checkHolds("members are", t.MemberHolds-t.MemberPassed, t.MembersHeld, p.speed)
}

// buildHoldingUplink gives all members together three quarters of the uplink's speed.
func (p *phase) buildHoldingUplink() {
	p.buildRelay(fmt.Sprintf(trunkMarks, "uplink_priority"), p.speed/4, sends("3"))
}

// judgeHoldingUplink does not judge order: frames go to the least filled member.
func (p *phase) judgeHoldingUplink() {
	p.checkWhole()
	t := &p.switches[0].trunk().Priorities[losslessPriority]
	p.checkHolds("the uplink is", t.UplinkHolds-t.UplinkPassed, t.UplinkHeld, trunkMembers*(p.speed/4))
}

// checkHolds: watermarks held who sends, again and again, but not at the end; the bottleneck, with its speed, stayed
// busy, so no pause lasts too long.
func (p *phase) checkHolds(who string, holds uint64, held bool, speed int64) {
	p.hard(TopicPFC, who+" held by watermark, resumed and held again", "more than once", fmt.Sprint(holds), holds > 1)
	p.holds(TopicPFC, who+" free at the end", !held)
	p.checkPaused()
	lossless, _ := p.sums()
	share := float64(lossless.Rate) / float64(speed)
	p.soft(TopicRate, "the bottleneck is filled", fmt.Sprintf("at least %.0f %%", 100*fillLimit),
		fmt.Sprintf("%.1f %%", 100*share), fillLimit-share)
	p.checkCounters()
}

// The mixed stream of phase 3 has a full frame among three of the shortest.
const fullEvery = 4

// buildRelay makes two switches, joined by the members of their trunks: what a sender gives to the uplink of the first
// is distributed to members, and collected by the second for the receiver behind its uplink.
func (p *phase) buildRelay(settings string, memberSpeed int64, args func() []string) {
	s1, s2 := p.addTrunkSwitch("s1", settings), p.addTrunkSwitch("s2", settings)
	for i := range trunkMembers {
		port := fmt.Sprintf("p%d", i+1)
		p.joinSwitches(s1, port, s2, port, memberSpeed)
	}
	p.addSender(p.addHost("h1", s1, "up", p.speed, nil), "h2", args)
	p.addSink(p.addHost("h2", s2, "up", p.speed, nil), nil)
}

// mixed are the arguments of a sender of short and full frames, whose flows each take a share of the uplink.
func (p *phase) mixed(share float64, priorities ...int) func() []string {
	return func() (args []string) {
		for _, priority := range priorities {
			args = append(args, "--flow", fmt.Sprintf("%d:octets=%d,large=%d,every=%d,rate=%d", priority,
				smallFrame-frame.FCSOctets, fullFrame, fullEvery, int64(share*float64(p.speed))))
		}
		return args
	}
}

func (p *phase) buildByFill() {
	p.buildRelay("distribution: least-filled", p.memberSpeed(), p.mixed(0.75, 0))
}

// buildByFlow has so little load that one member could carry all flows: where they go is a matter of chance.
func (p *phase) buildByFlow() {
	p.buildRelay("distribution: flow-hash", p.memberSpeed(), p.mixed(0.05, 0, 1, 2, 4, 5, 6))
}

// judgeDistribution reports what the first switch gave to its members, and how the receiver found it. It does not judge
// how far members are from their mean, nor who overtakes whom: on real links that depends on when frames come. The
// tests of package trunk judge both in virtual time.
func (p *phase) judgeDistribution() {
	t := p.switches[0].trunk()
	_, sum := p.sums()
	d := Distribution{Phase: p.name, By: t.Distribution, Sent: sum.Sent, Reordered: sum.Reordered,
		Formula: overtakenFormula(trunkMembers)}
	used := 0
	for i := range t.Members {
		n := t.Members[i].DistributedBytes
		d.Members = append(d.Members, n)
		if n > 0 {
			used++
		}
	}
	for _, f := range p.sinks[0].received.Flows {
		d.Overtaken = max(d.Overtaken, f.Overtaken)
	}
	d.Imbalance = imbalance(d.Members)
	p.report.Distribution = append(p.report.Distribution, d)
	p.some(TopicLoss, "frames sent", sum.Sent)
	// These priorities are lossy: a machine that stands still may lose some.
	p.soft(TopicRate, "frames lost", "0", fmt.Sprint(sum.Lost), float64(sum.Lost)/float64(max(1, sum.Sent)))
	if p.name == "3a" {
		p.equal(TopicCounters, "members that were used", trunkMembers, uint64(used))
	} else {
		p.none(TopicOrder, "frames reordered within a flow", sum.Reordered)
	}
	p.checkCounters()
}
