package demo

import (
	"fmt"
	"math"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
)

// addResults adds flows and counters to the report. No frame of any priority arrives twice.
func (p *phase) addResults() {
	r := p.report
	var duplicated uint64
	for _, f := range p.flows {
		r.Flows = append(r.Flows, f.Flow)
		duplicated += f.Duplicated
	}
	if len(p.flows) > 0 {
		p.none(TopicOrder, "frames duplicated", duplicated)
	}
	r.Transfers = append(r.Transfers, p.transfers...)
	for _, s := range p.switches {
		r.Switches = append(r.Switches, s.result(p.name))
	}
}

// sums adds up the counters of the phase's flows in the lossless priority, and in all others.
func (p *phase) sums() (lossless, lossy Flow) {
	for _, f := range p.flows {
		sum := &lossy
		if f.Priority == losslessPriority {
			sum = &lossless
		}
		sum.Sent, sum.Received, sum.Lost = sum.Sent+f.Sent, sum.Received+f.Received, sum.Lost+f.Lost
		sum.Reordered, sum.Rate = sum.Reordered+f.Reordered, sum.Rate+f.Rate
	}
	return lossless, lossy
}

// judgeIncast adds the checks of demo incast.
func (p *phase) judgeIncast() {
	p.checkCounters()
	if p.control {
		p.checkControl()
		return
	}
	p.checkLossless()
	p.checkPFC()
	p.checkRates()
}

// checkLossless: nothing lost or reordered in the lossless priority.
func (p *phase) checkLossless() {
	p.checkWhole()
	sum, _ := p.sums()
	p.none(TopicOrder, "lossless frames reordered", sum.Reordered)
}

// checkWhole: nothing lost in the lossless priority; totals are exchanged, so the tail counts.
func (p *phase) checkWhole() {
	sum, _ := p.sums()
	p.some(TopicLoss, "lossless frames sent", sum.Sent)
	p.none(TopicLoss, "lossless frames lost", sum.Lost)
	p.checkDrops()
}

// checkDrops: no switch says that it lost a lossless frame.
func (p *phase) checkDrops() {
	for _, s := range p.switches {
		n := s.state.ports.LosslessDropsSinceStart
		p.hard(TopicLoss, s.name+": lossless_drops_total", "0", fmt.Sprint(n)+s.drops(), n == 0)
	}
}

// drops lists the dropped frames of a switch by ingress port and reason; "" where there are none.
func (s *switchNode) drops() (text string) {
	for _, p := range s.state.queues.Ports {
		for _, d := range p.Drops {
			text += fmt.Sprintf(", port %s %s: %d", p.Port, d.Reason, d.Frames)
		}
	}
	return text
}

// checkPFC: pauses went from the bottleneck back to every sender, for the lossless priority only.
func (p *phase) checkPFC() {
	for _, s := range p.switches {
		for _, port := range s.ports {
			name, n := fmt.Sprintf("%s:%s: XOFF for priority %d", s.name, port.name, losslessPriority),
				s.pfc(port.name, losslessPriority).SentXoff
			if port.name == fmt.Sprintf("p%d", senders+1) || port.name == "up" { // towards the receiver
				p.none(TopicPFC, name, n)
			} else {
				p.some(TopicPFC, name, n)
			}
		}
		_, others := s.pfcSent()
		p.none(TopicPFC, s.name+": PFC for other priorities", others)
	}
	p.checkPaused()
	for _, e := range p.senders {
		var wrong uint64
		for q, n := range e.sent.PFCReceived {
			if q != losslessPriority {
				wrong += n
			}
		}
		p.none(TopicPFC, e.name+": PFC for other priorities", wrong)
	}
}

// checkPaused: every sender was paused.
func (p *phase) checkPaused() {
	for _, e := range p.senders {
		p.some(TopicPFC, e.name+": PFC frames received", e.sent.PFCReceived[losslessPriority])
	}
}

// checkCounters: counters balance, nothing is held at the end, and the kernel counted the same.
func (p *phase) checkCounters() {
	p.checkEmpty()
	for _, s := range p.switches {
		for _, port := range s.ports {
			p.checkKernel(s, port)
		}
	}
}

// checkEmpty: no frame and no peer is held at the end, and every counter balances.
func (p *phase) checkEmpty() {
	for _, s := range p.switches {
		p.holds(TopicCounters, s.name+": buffers empty, nobody held", s.empty())
	}
	p.checkBalance()
}

// checkBalance: what went in came out, was dropped or is held.
func (p *phase) checkBalance() {
	for _, s := range p.switches {
		in, out := Balance(s.state.ports.Ports, s.state.queues.Ports)
		p.equal(TopicCounters, s.name+": received + copies = sent + dropped + held", in, out)
	}
}

// checkKernel compares a port's counters with the kernel's at both ends of the link.
func (p *phase) checkKernel(s *switchNode, port switchPort) {
	received, sent := s.counted(port.name)
	k, name := s.kernel[port.name], s.name+":"+port.name
	p.equal(TopicCounters, name+": frames received, kernel and switch", k.ReceivedFrames, received)
	fast := s.port(port.name).ForwardedFrames // the interface that they leave by does not see them
	p.equal(TopicCounters, name+": frames sent, kernel and switch", k.SentFrames+fast, sent)
	peer, err := port.peer.Stats(port.peerInterface)
	for _, o := range p.switches {
		if o.node == port.peer {
			peer.SentFrames += o.port(port.peerInterface).ForwardedFrames
		}
	}
	p.hard(TopicCounters, name+": the kernel at the far end agrees", fmt.Sprintf("%d/%d", sent, received),
		fmt.Sprintf("%d/%d", peer.ReceivedFrames, peer.SentFrames),
		err == nil && peer.ReceivedFrames == sent && peer.SentFrames == received)
}

// counted returns the frames that a port received and sent by the switch's own count, MAC Control included.
func (s *switchNode) counted(name string) (received, sent uint64) {
	p, pfc := s.port(name), s.pfc(name, losslessPriority)
	received = p.ReceiveFrames + s.ringDrops(name) + pfc.ReceivedFrames + s.controlUnread(name)
	return received, p.TransmitFrames + pfc.SentFrames
}

// controlUnread are the MAC Control frames of a port that found its control ring full, or were surplus.
func (s *switchNode) controlUnread(port string) (n uint64) {
	for _, i := range s.pfcPort(port).Ignored {
		if i.Reason == "ring" || i.Reason == "surplus" {
			n += i.Frames
		}
	}
	return n
}

// ringDrops are the frames lost in the full rings of a port.
func (s *switchNode) ringDrops(port string) (n uint64) {
	for _, d := range s.queues(port).Drops {
		if d.Reason == "ring" {
			n += d.Frames
		}
	}
	return n
}

// Balance returns both sides of a switch's account. Frames lost in a ring were never received.
func Balance(ports []api.Port, queues []api.QueuesPort) (in, out uint64) {
	for i := range ports {
		in += ports[i].ReceiveFrames + ports[i].FloodCopies
		out += ports[i].TransmitFrames
	}
	for _, p := range queues {
		for _, d := range p.Drops {
			if d.Reason != "ring" {
				out += d.Frames
			}
		}
		for _, q := range p.Queues {
			out += uint64(q.Frames)
		}
		out += uint64(p.DelayedFrames)
	}
	return in, out
}

// checkControl: without flow control the same load loses frames of the lossless priority. It was no load where senders
// offered no more than the bottleneck carries and the buffers hold. Where flow control is off, the switch sends no PFC.
func (p *phase) checkControl() {
	lossless, lossy := p.sums()
	offered := float64((lossless.Sent+lossy.Sent)*uint64(frame.WireOctets(frameOctets))) * 8
	carried := float64(p.speed) * (p.seconds.Seconds() + 1)
	for _, pool := range p.switches[0].state.buffer.Pools {
		carried += 8 * float64(pool.SizeBytes)
	}
	p.shows("priority 3 frames lost without flow control", lossless.Lost, offered > carried)
	if p.off {
		lossless, others := p.switches[0].pfcSent()
		p.none(TopicPFC, "s1: PFC sent", lossless+others)
	}
}

// checkRates: the lossless priority fills its share of the bottleneck and shares it fairly; the lossy one loses what
// the weights say. With equal weights the bottleneck gives each priority half. Ports without a speed promise no rate.
func (p *phase) checkRates() {
	if p.noSpeed {
		return
	}
	share := float64(p.speed) / 2
	lossless, lossy := p.sums()
	total, off := float64(lossless.Rate), 0.0
	mean := total / senders
	for _, f := range p.flows {
		if f.Priority == losslessPriority {
			off = max(off, math.Abs(float64(f.Rate)-mean))
		}
	}
	p.soft(TopicRate, "lossless share of the bottleneck", fmt.Sprintf("at least %.0f %%", 100*fillLimit),
		fmt.Sprintf("%.1f %%", 100*total/share), fillLimit-total/share)
	spread := off / max(1, mean)
	// What two senders could not take, the third one had: it is off the mean by twice as much.
	p.soft(TopicRate, "lossless senders differ from their mean", fmt.Sprintf("at most %.0f %%", 100*fairnessLimit),
		fmt.Sprintf("%.1f %%", 100*spread), (spread-fairnessLimit)/(senders-1))
	offered := float64(lossy.Sent*uint64(frame.WireOctets(frameOctets))*8) / p.seconds.Seconds()
	want := max(0, 1-share/max(1, offered))
	got := float64(lossy.Lost) / float64(max(1, lossy.Sent))
	p.soft(TopicRate, "lossy frames lost", fmt.Sprintf("%.0f %% within %.0f points", 100*want, 100*lossLimit),
		fmt.Sprintf("%.1f %%", 100*got), math.Abs(got-want)-lossLimit)
}
