package demo

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/dcqcn"
)

// Congestion is what held or slowed the senders in a phase of demo dcqcn. The queue is that of the bottleneck.
type Congestion struct {
	Phase        string  `json:"act"`
	How          string  `json:"how"`          // what holds the senders back
	Paused       float64 `json:"paused_share"` // of the load's time that PFC held a sender, in the mean of them
	XOFFs        uint64  `json:"sent_xoff"`
	Marked       uint64  `json:"ecn_marked_frames"` // by the switch
	Arrived      uint64  `json:"marked_frames"`     // that came marked
	CNPsSent     uint64  `json:"cnp_sent_frames"`
	CNPsReceived uint64  `json:"cnp_received_frames"`
	QueueMean    int64   `json:"queue_mean_bytes"`
	QueueMax     int64   `json:"queue_max_bytes"`
	Filled       float64 `json:"filled_share"` // of the bottleneck
}

// Marking begins where the queue is worth 0.5 ms of the port's speed, and is complete at 2 ms. The thresholds of preset
// roce are for fast ports: the queue of a slow one, which holds 5 ms, would not reach them.
const (
	markFrom = 500 * time.Microsecond
	markAll  = 2 * time.Millisecond
)

// What holds the senders back in a phase.
const (
	alone      = "PFC alone"
	controlled = "ECN and DCQCN"
)

// notifications are how many CNPs of a flow a phase has time for, at least.
const notifications = 20

// queueLook is the time between two looks at the bottleneck's queue.
const queueLook = 50 * time.Millisecond

// DCQCN runs the phases of demo dcqcn, the same incast twice: (a) PFC alone holds the senders; (b) the switch marks
// (ECN), the receiver notifies, and the senders slow down, so that PFC seldom has to hold them. Errors are as those of
// Incast.
func DCQCN(ctx context.Context, o Options) (*Report, error) {
	r := newReport("dcqcn", o)
	if err := r.calibrate(ctx, &o, &phase{build: (*phase).buildCongestion}); err != nil {
		return r.finish(err)
	}
	phases := congestionPhases(o)
	r.Seconds = phases[0].seconds.Seconds()
	return r.finish(performPhases(ctx, o, phases, r))
}

func congestionPhases(o Options) []*phase {
	all := []*phase{
		{name: "a", title: "three senders, one receiver: PFC alone holds the senders"},
		{name: "b", title: "the same with ECN and DCQCN: the senders slow down as the receiver tells them"},
	}
	for _, p := range all {
		queue := int64(0)
		p.seconds = max(o.load(), notifications*time.Duration(dcqcn.For(o.Speed).Interval))
		p.speed, p.lead, p.build = o.Speed, startDelay, (*phase).buildCongestion
		p.during = func(p *phase, ctx context.Context) (err error) {
			queue, err = p.meanQueue(ctx)
			return err
		}
		p.judge = func(p *phase) { p.judgeCongestion(queue) }
	}
	return o.keepLast("b", all)
}

// slows tells whether senders slow down in this phase.
func (p *phase) slows() bool { return p.name == "b" }

// buildCongestion makes the hosts h1, h2, … at switch s1, and the receiver, behind the bottleneck.
func (p *phase) buildCongestion() {
	s1 := p.addSwitch("s1", "")
	s1.config = func() string { return s1.head() + markingKeys(p.speed) + s1.portLines("pfc") }
	var control []string
	if p.slows() {
		control = []string{"--cc", "dcqcn"}
	}
	with := func(args func() []string) func() []string {
		return func() []string { return slices.Concat(args(), control) }
	}
	receiver := fmt.Sprintf("h%d", senders+1)
	for i := range senders {
		h := p.addHost(fmt.Sprintf("h%d", i+1), s1, fmt.Sprintf("p%d", i+1), p.speed, nil)
		p.addSender(h, receiver, with(sends(fmt.Sprint(losslessPriority))))
	}
	p.addSink(p.addHost(receiver, s1, bottleneck, p.speed, nil), with(p.windowArgs))
}

// bottleneck is the port towards the receiver.
const bottleneck = "p4"

// markingKeys are the keys of a switch that marks as its ports' speed wants, in bit/s.
func markingKeys(speed int64) string {
	octets := func(d time.Duration) int64 { return int64(d.Seconds() * float64(speed) / 8) }
	return fmt.Sprintf("preset: roce\necn: {%d: {kmin: %d, kmax: %d, pmax: 10%%}}\n", losslessPriority,
		octets(markFrom), octets(markAll))
}

// meanQueue is the mean of the bottleneck's queue while frames flow, in octets.
func (p *phase) meanQueue(ctx context.Context) (int64, error) {
	sum, looks := int64(0), int64(0)
	for at := time.Duration(0); at < p.seconds; at = time.Since(p.start).Truncate(queueLook) + queueLook {
		if err := p.wait(ctx, at); err != nil {
			return 0, err
		}
		var now states
		if err := ask(ctx, p.switches[0], "queues", &now.queues); err != nil {
			return 0, err
		}
		looks++
		sum += now.bottleneck().Bytes
	}
	return sum / max(1, looks), nil
}

// bottleneck is the lossless queue of the port towards the receiver.
func (s *states) bottleneck() api.Queue {
	port := find(s.queues.Ports, func(p *api.QueuesPort) bool { return p.Port == bottleneck })
	return port.Queues[losslessPriority]
}

// congestion is what the phase observed; queue is the mean of the bottleneck's.
func (p *phase) congestion(queue int64) Congestion {
	s := p.switches[0]
	q := s.state.bottleneck()
	c := Congestion{Phase: p.name, How: alone, Marked: q.EcnMarked, QueueMean: queue, QueueMax: q.MaxBytes}
	if p.slows() {
		c.How = controlled
	}
	for _, port := range s.state.pfc.Ports {
		c.XOFFs += s.pfc(port.Port, losslessPriority).SentXoff
	}
	for _, e := range p.senders {
		c.Paused += float64(e.sent.Paused[losslessPriority]) / float64(max(1, e.sent.Elapsed)) / senders
		for _, f := range e.sent.Flows {
			c.CNPsReceived += f.CNPs
		}
	}
	for _, f := range p.sinks[0].received.Flows {
		c.Arrived, c.CNPsSent = c.Arrived+f.Marked, c.CNPsSent+f.CNPs
	}
	sum, _ := p.sums()
	c.Filled = float64(sum.Rate) / float64(p.speed)
	return c
}

// judgeCongestion adds the checks of demo dcqcn. How far DCQCN fills the bottleneck is not judged: below 1 Gbit/s its
// times are long, and it needs seconds to find back to the full link.
func (p *phase) judgeCongestion(queue int64) {
	c := p.congestion(queue)
	p.report.Congestion = append(p.report.Congestion, c)
	p.checkCounters()
	p.checkLossless()
	if !p.slows() {
		p.checkPFC()
		p.none(TopicECN, "frames marked without ECN", c.Marked+c.Arrived)
		p.none(TopicECN, "CNPs without DCQCN", c.CNPsSent+c.CNPsReceived)
		p.soft(TopicRate, "the bottleneck is filled", fmt.Sprintf("at least %.0f %%", 100*fillLimit),
			fmt.Sprintf("%.1f %%", 100*c.Filled), fillLimit-c.Filled)
		return
	}
	p.some(TopicECN, "frames marked by the switch", c.Marked)
	p.equal(TopicECN, "frames that came marked", c.Marked, c.Arrived)
	p.some(TopicECN, "CNPs received by senders", c.CNPsReceived)
	p.hard(TopicECN, "CNPs received, sent, marked frames", "each at most the next",
		fmt.Sprintf("%d, %d, %d", c.CNPsReceived, c.CNPsSent, c.Arrived),
		c.CNPsReceived <= c.CNPsSent && c.CNPsSent <= c.Arrived)
	before := find(p.report.Congestion, func(c *Congestion) bool { return c.How == alone }).Paused
	p.soft(TopicRate, "senders paused", fmt.Sprintf("at most half of %.1f %%", 100*before),
		fmt.Sprintf("%.1f %%", 100*c.Paused), c.Paused-before/2)
}

// congestionText writes what held or slowed the senders, in this phase beside those before.
func (r *Report) congestionText(out io.Writer, phase string) error {
	if !slices.ContainsFunc(r.Congestion, func(c Congestion) bool { return c.Phase == phase }) {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "HELD BY\tPAUSED %\tXOFF\tMARKED\tCNPS SENT\tRECEIVED\tMEAN BYTES\tMAX BYTES\tFILLED %\t")
	for _, c := range r.Congestion {
		if c.Phase > phase {
			break
		}
		fmt.Fprintf(w, "%s\t%.1f\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n", c.How, 100*c.Paused, c.XOFFs, c.Marked,
			c.CNPsSent, c.CNPsReceived, c.QueueMean, c.QueueMax, 100*c.Filled)
	}
	return w.Flush()
}
