package demo

import (
	"fmt"

	"pfcswitch/dataplane/frame"
)

// The mixed stream of act 3 has a full frame among three of the shortest.
const fullEvery = 4

// buildRelay makes two switches, joined by the members of their trunks: what a sender gives to the uplink of the first is
// distributed to members, and collected by the second for the receiver behind its uplink.
func (a *act) buildRelay(settings string, memberSpeed int64, offers func() []string) error {
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
		both[1].ports = append(both[1].ports, switchPort{name: p, speed: memberSpeed, peer: both[0].node, peerI: p})
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
func (a *act) mixed(priority int, share float64) string {
	return fmt.Sprintf("%d:octets=%d,large=%d,every=%d,rate=%d", priority, smallFrame-frame.FCSOctets, fullFrame, fullEvery, int64(share*float64(2*a.speed)))
}

func buildLeastFilled(a *act) error {
	return a.buildRelay("distribution: least-filled", a.speed, func() []string { return []string{a.mixed(0, 0.75)} })
}

// buildByFlow has so little load that one member could carry all flows: where they go is a matter of chance.
func buildByFlow(a *act) error {
	return a.buildRelay("distribution: flow-hash", a.speed, func() (offers []string) {
		for _, priority := range []int{0, 1, 2, 4, 5, 6} {
			offers = append(offers, a.mixed(priority, 0.05))
		}
		return offers
	})
}

// observeDistribution reports what the first switch gave to its members, and how the receiver found it.
func (a *act) observeDistribution() (d Distribution) {
	d = Distribution{Act: a.name, Formula: overtakenFormula(trunkMembers)}
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

func (a *act) checkArrival(r *Report) {
	var sent, lost uint64
	for _, f := range a.flows() {
		sent, lost = sent+f.Sent, lost+f.Lost
	}
	r.hard(a.name, TopicLoss, "frames sent", "more than 0", fmt.Sprint(sent), sent > 0)
	// These priorities are lossy: a machine that stands still may lose some.
	r.soft(a.name, TopicRate, "frames lost", "0", fmt.Sprint(lost), float64(lost)/float64(max(1, sent)), a.shortage())
}

// judgeDistribution does not judge how far members are from their mean, nor who overtakes whom: on real links that depends on when
// frames come. The tests of package trunk judge both in virtual time.
func judgeDistribution(a *act, r *Report) {
	d := a.observeDistribution()
	r.Distribution = append(r.Distribution, d)
	a.checkArrival(r)
	used := 0
	for _, n := range d.Members {
		if n > 0 {
			used++
		}
	}
	r.hard(a.name, TopicCounters, "members that were used", fmt.Sprint(trunkMembers), fmt.Sprint(used), used == trunkMembers)
}

func judgeByFlow(a *act, r *Report) {
	d := a.observeDistribution()
	r.Distribution = append(r.Distribution, d)
	a.checkArrival(r)
	r.hard(a.name, TopicOrder, "frames reordered within a flow", "0", fmt.Sprint(d.Reordered), d.Reordered == 0)
}
