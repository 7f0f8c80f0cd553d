package demo

import (
	"context"
	"fmt"
	"math"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// Limits of what demo trunk judges, as shares.
const (
	meteredLimit = 0.05 // between real links and virtual time
)

// trunkMembers is the number of slow ports of a trunk. The uplink is as fast as two of them.
const trunkMembers = 3

// Trunk runs the phases of demo trunk: (1) meters on lossy priorities, beside the same load in virtual time; (2) a
// lossless priority of members that are faster than the uplink, and of an uplink that is faster than the members; (3) a
// stream that is distributed to members and collected again, by the octets that members hold and by flow. Errors are as
// those of Incast.
func Trunk(ctx context.Context, o Options) (*Report, error) {
	r := newReport("trunk", o)
	heaviest := &phase{name: "3a", build: buildByFill}
	// the speed is the uplink's: members have half of it
	err := r.calibrate(ctx, &o, func(b *testTopology, speed int64) error {
		err := heaviest.topologyOf(b, speed/2)
		set := b.set
		b.set = func(speed int64) { set(speed / 2) }
		return err
	})
	if err != nil {
		return r.finish(err)
	}
	return performPhases(ctx, o, trunkActs(o), r)
}

func trunkActs(o Options) []*phase {
	seconds := time.Duration(o.Seconds * float64(time.Second))
	all := []*phase{
		{name: "1", title: "three members, one uplink: lossy priorities are metered", build: buildMetering,
			judge: judgeMetering},
		{name: "2a", title: "three saturated members, one uplink: watermarks hold members, a lossless priority loses " +
			"nothing", build: buildHolding, judge: judgeHolding},
		{name: "2b", title: "and back: a saturated uplink, three members that are slower together: watermarks hold " +
			"the uplink", build: buildHoldingUplink, judge: judgeHoldingUplink},
		{name: "3a", title: "the uplink's frames are distributed to the least filled member, and collected again",
			build: buildByFill, judge: judgeDistribution},
		{name: "3b", title: "the same by flow: order within each is kept", build: buildByFlow, judge: judgeByFlow},
	}
	for _, a := range all {
		a.obey, a.flowControl, a.seconds, a.speed = true, "pfc", seconds, o.Speed/2
	}
	if o.Enter != nil {
		all[1].enter = o.Enter
		all = append(append(all[:1:1], all[2:]...), all[1])
	}
	return all
}

// trunkHead and trunkTail are the configuration of a switch whose ports p1, p2, p3 and up are a trunk.
const (
	trunkHead = "priorities: {lossless: [3]}\n"
	trunkTail = "trunks: {up: {uplink: up, members: [p1, p2, p3], %s}}\n"
)

func (a *phase) addTrunkSwitch(name, settings string) (*switchNode, error) {
	s, err := a.addSwitch(name)
	if err == nil {
		s.preset, s.extraConfig = trunkHead, fmt.Sprintf(trunkTail, settings)
	}
	return s, err
}

// addMembersAndUplink makes hosts behind a trunk's ports: senders behind members, the receiver behind the uplink.
func (a *phase) addMembersAndUplink(s *switchNode, offers [trunkMembers]string) (err error) {
	for i, flow := range offers {
		h, err := a.addHost(fmt.Sprintf("h%d", i+1))
		if err != nil {
			return err
		}
		h.offers = constantOffer(flow)
		a.senders = append(a.senders, h)
		if err := a.link(s, h.node, fmt.Sprintf("p%d", i+1), hostInterface, a.speed); err != nil {
			return err
		}
	}
	if a.receiver, err = a.addHost("h4"); err != nil {
		return err
	}
	a.receiver.speed = 2 * a.speed
	return a.link(s, a.receiver.node, "up", hostInterface, 2*a.speed)
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

func buildMetering(a *phase) error {
	meters := ""
	var offers [trunkMembers]string
	share := func(n float64) int64 { return int64(n * float64(a.speed)) }
	for i, m := range metered {
		meters += fmt.Sprintf("%d: {cir: %d, pir: %d}, ", m.priority, share(m.cir), share(m.pir))
		offers[i] = fmt.Sprintf("%d:octets=%d,rate=%d", m.priority, fullFrame, share(m.offered))
	}
	s, err := a.addTrunkSwitch("s1", "meters: {"+meters+"}")
	if err != nil {
		return err
	}
	return a.addMembersAndUplink(s, offers)
}

// trunk is the answer of a switch about its trunk.
func (s *switchNode) trunk() *api.Trunk { return &s.state.trunks.Trunks[0] }

func judgeMetering(a *phase, r *Report) {
	t := a.switches[0].trunk()
	model := a.modelMetering(t)
	var offered, accounted uint64
	for i, m := range metered {
		p := &t.Priorities[m.priority]
		row := Metered{Phase: a.name, Priority: m.priority, What: m.what, CIR: p.Meter.CIR, PIR: p.Meter.PIR,
			Model: model[m.priority]}
		row.Real = outcome{Green: p.Green.Frames, Yellow: p.Yellow.Frames, Red: p.Red.Frames}
		for _, f := range a.flows() {
			if f.Priority == m.priority {
				row.Real.Offered, row.Real.Delivered = f.Sent, f.Received
			}
		}
		r.Meters = append(r.Meters, row)
		a.compareWithModel(r, &row)
		got := row.Real.Delivered
		drops := p.MeterDropped.Frames + p.REDDropped.Frames
		share := func(n uint64) float64 { return float64(n) / float64(max(1, row.Real.Offered)) }
		offered, accounted = offered+row.Real.Offered, accounted+got+drops
		r.hard(a.name, TopicLoss, fmt.Sprintf("priority %d: frames that arrive", m.priority), "more than 0",
			fmt.Sprint(got), got > 0)
		if i == len(metered)-1 {
			lost := row.Real.Offered - min(got, row.Real.Offered)
			r.soft(a.name, TopicLoss, fmt.Sprintf("priority %d, %s: frames lost", m.priority, m.what), "0",
				fmt.Sprint(lost), share(lost), a.shortage())
		} else {
			n := row.Real.Yellow + row.Real.Red
			r.control(a.name, fmt.Sprintf("priority %d, %s: frames that are not green", m.priority, m.what),
				"more than 0", fmt.Sprint(n), n > 0,
				a.offeredRate(row.Real.Offered) > (1+overLimit)*m.cir*float64(a.speed))
		}
	}
	accounted += a.ringDrops()
	r.hard(a.name, TopicCounters, "offered = delivered + dropped by meter, RED and rings", fmt.Sprint(offered),
		fmt.Sprint(accounted), offered == accounted)
}

// ringDrops are the frames lost in full rings of the switches and the receiver.
func (a *phase) ringDrops() (n uint64) {
	for _, s := range a.switches {
		for _, p := range s.state.queues.Ports {
			for _, d := range p.Drops {
				if d.Reason == "ring" {
					n += d.Frames
				}
			}
		}
	}
	return n + a.sink.RingLossless + a.sink.RingOther
}

// offeredRate is that of so many full frames in the phase's time, in bit/s on the wire.
func (a *phase) offeredRate(frames uint64) float64 {
	return float64(frames) * float64(frame.WireOctets(fullFrame)) * 8 / a.seconds.Seconds()
}

// compareWithModel compares the colours of a priority's frames with those in virtual time, from a sender with an even
// rate. While a real sender stalls, its meter's bucket overflows, and the burst after the stall finds fewer tokens. The
// difference is at most the load of the stall.
func (a *phase) compareWithModel(r *Report, m *Metered) {
	short, offered := a.shortage(), float64(max(1, m.Real.Offered))
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
		r.soft(a.name, TopicRate, fmt.Sprintf("priority %d, %s: %s frames", m.Priority, m.What, n.what),
			fmt.Sprintf("%d within %.0f %%", n.want, 100*meteredLimit),
			fmt.Sprint(n.got), (math.Abs(got-want)-meteredLimit*want)/offered, short)
	}
}

// modelMetering runs what the senders sent, evenly spaced, through the meters that the switch has in force.
func (a *phase) modelMetering(t *api.Trunk) [trunk.NumPriorities]outcome {
	c := trunk.AggregatorConfig{Members: trunkMembers, Metered: t.Metered, Lossless: 1 << losslessPriority,
		Total: profile(t.Total.Meter)}
	for p := range c.Meters {
		c.Meters[p] = profile(t.Priorities[p].Meter)
	}
	var offers []offer
	for i, h := range a.senders {
		for _, f := range h.report.Flows {
			offers = append(offers, offer{member: i, priority: f.Priority, frames: f.Sent, octets: fullFrame,
				elapsed: h.report.Elapsed})
		}
	}
	return meterModel(c, offers, 2*a.speed)
}

func profile(m *api.TrunkMeter) trunk.MeterConfig {
	if m == nil {
		return trunk.MeterConfig{}
	}
	return trunk.MeterConfig{CIR: m.CIR, PIR: m.PIR, CBS: m.CBS, PBS: m.PBS}
}

// trunkMarks are the watermarks of phase 2, one way or the other.
const trunkMarks = "watermarks: {%s: {3: {high: 256KiB, low: 128KiB}}}"

func buildHolding(a *phase) error {
	s, err := a.addTrunkSwitch("s1", fmt.Sprintf(trunkMarks, "priority"))
	if err != nil {
		return err
	}
	return a.addMembersAndUplink(s, [trunkMembers]string{"3", "3", "3"})
}

func judgeHolding(a *phase, r *Report) {
	a.checkLossless(r, a.flows())
	s := a.switches[0]
	p := &s.trunk().Priorities[losslessPriority]
	r.hard(a.name, TopicPFC, "members are held by watermark, resumed and held again", "more than once",
		fmt.Sprint(p.MemberHolds-p.MemberPassed), p.MemberHolds-p.MemberPassed > 1)
	r.hard(a.name, TopicPFC, "members are free at the end", "yes", yes(!p.MembersHeld), !p.MembersHeld)
	a.checkHeldSenders(r)
	a.checkFilled(r, "the uplink is", 2*a.speed)
}

// buildHoldingUplink gives all members together three quarters of the uplink's speed.
func buildHoldingUplink(a *phase) error {
	return a.buildRelay(fmt.Sprintf(trunkMarks, "uplink_priority"), a.speed/2, constantOffer("3"))
}

// judgeHoldingUplink does not judge order: frames go to the least filled member.
func judgeHoldingUplink(a *phase, r *Report) {
	a.checkWhole(r, a.flows())
	p := &a.switches[0].trunk().Priorities[losslessPriority]
	r.hard(a.name, TopicPFC, "the uplink is held by watermark, resumed and held again", "more than once",
		fmt.Sprint(p.UplinkHolds-p.UplinkPassed), p.UplinkHolds-p.UplinkPassed > 1)
	r.hard(a.name, TopicPFC, "the uplink is free at the end", "yes", yes(!p.UplinkHeld), !p.UplinkHeld)
	a.checkHeldSenders(r)
	a.checkFilled(r, "members are", trunkMembers*(a.speed/2))
}

// checkHeldSenders: every sender was paused.
func (a *phase) checkHeldSenders(r *Report) {
	for _, h := range a.senders {
		got := h.report.PFCReceived[losslessPriority]
		r.hard(a.name, TopicPFC, h.name+": PFC frames received", "more than 0", fmt.Sprint(got), got > 0)
	}
}

// checkFilled: the bottleneck stays busy, so no pause lasts too long.
func (a *phase) checkFilled(r *Report, what string, speed int64) {
	var rate float64
	for _, f := range a.flows() {
		rate += float64(f.Rate)
	}
	r.soft(a.name, TopicRate, what+" filled", fmt.Sprintf("at least %.0f %%", 100*fillLimit),
		fmt.Sprintf("%.1f %%", 100*rate/float64(speed)),
		fillLimit-rate/float64(speed), a.shortage())
}

// The mixed stream of phase 3 has a full frame among three of the shortest.
const fullEvery = 4

// buildRelay makes two switches, joined by the members of their trunks: what a sender gives to the uplink of the first
// is distributed to members, and collected by the second for the receiver behind its uplink.
func (a *phase) buildRelay(settings string, memberSpeed int64, offers func() []string) error {
	var both [2]*switchNode
	for i, name := range []string{"s1", "s2"} {
		s, err := a.addTrunkSwitch(name, settings)
		if err != nil {
			return err
		}
		both[i] = s
	}
	for i := range trunkMembers {
		p := fmt.Sprintf("p%d", i+1)
		if err := a.link(both[0], both[1].node, p, p, memberSpeed); err != nil {
			return err
		}
		both[1].ports = append(both[1].ports, switchPort{name: p, speed: memberSpeed, peer: both[0].node,
			peerInterface: p})
	}
	sender, err := a.addHost("h1")
	if err != nil {
		return err
	}
	sender.speed, sender.offers = 2*a.speed, offers
	a.senders = append(a.senders, sender)
	if err := a.link(both[0], sender.node, "up", hostInterface, sender.speed); err != nil {
		return err
	}
	if a.receiver, err = a.addHost("h2"); err != nil {
		return err
	}
	a.receiver.speed = 2 * a.speed
	return a.link(both[1], a.receiver.node, "up", hostInterface, a.receiver.speed)
}

// mixed is a flow of short and full frames that takes a share of the uplink.
func (a *phase) mixed(priority int, share float64) string {
	return fmt.Sprintf("%d:octets=%d,large=%d,every=%d,rate=%d", priority, smallFrame-frame.FCSOctets, fullFrame,
		fullEvery, int64(share*float64(2*a.speed)))
}

func buildByFill(a *phase) error {
	return a.buildRelay("distribution: least-filled", a.speed, func() []string { return []string{a.mixed(0, 0.75)} })
}

// buildByFlow has so little load that one member could carry all flows: where they go is a matter of chance.
func buildByFlow(a *phase) error {
	return a.buildRelay("distribution: flow-hash", a.speed, func() (offers []string) {
		for _, priority := range []int{0, 1, 2, 4, 5, 6} {
			offers = append(offers, a.mixed(priority, 0.05))
		}
		return offers
	})
}

// observeDistribution reports what the first switch gave to its members, and how the receiver found it.
func (a *phase) observeDistribution() (d Distribution) {
	d = Distribution{Phase: a.name, Formula: overtakenFormula(trunkMembers)}
	t := a.switches[0].trunk()
	d.By = t.Distribution
	for i := range t.Members {
		d.Members = append(d.Members, t.Members[i].DistributedBytes)
	}
	for _, f := range a.flows() {
		d.Sent += f.Sent
		d.Reordered += f.Reordered
	}
	for _, f := range a.sink.Flows {
		d.Overtaken = max(d.Overtaken, f.Overtaken)
	}
	d.Imbalance = imbalance(d.Members)
	return d
}

func (a *phase) checkArrival(r *Report) {
	var sent, lost uint64
	for _, f := range a.flows() {
		sent, lost = sent+f.Sent, lost+f.Lost
	}
	r.hard(a.name, TopicLoss, "frames sent", "more than 0", fmt.Sprint(sent), sent > 0)
	// These priorities are lossy: a machine that stands still may lose some.
	r.soft(a.name, TopicRate, "frames lost", "0", fmt.Sprint(lost), float64(lost)/float64(max(1, sent)), a.shortage())
}

// judgeDistribution does not judge how far members are from their mean, nor who overtakes whom: on real links that
// depends on when frames come. The tests of package trunk judge both in virtual time.
func judgeDistribution(a *phase, r *Report) {
	d := a.observeDistribution()
	r.Distribution = append(r.Distribution, d)
	a.checkArrival(r)
	used := 0
	for _, n := range d.Members {
		if n > 0 {
			used++
		}
	}
	r.hard(a.name, TopicCounters, "members that were used", fmt.Sprint(trunkMembers), fmt.Sprint(used),
		used == trunkMembers)
}

func judgeByFlow(a *phase, r *Report) {
	d := a.observeDistribution()
	r.Distribution = append(r.Distribution, d)
	a.checkArrival(r)
	r.hard(a.name, TopicOrder, "frames reordered within a flow", "0", fmt.Sprint(d.Reordered), d.Reordered == 0)
}
