package demo

import (
	"fmt"
	"math"

	"pfcswitch/dataplane/frame"
)

// report adds the results of the phase to the report, with the checks of every phase.
func (a *phase) report(r *Report) {
	r.Flows = append(r.Flows, a.flows()...)
	for _, s := range a.switches {
		r.Switches = append(r.Switches, s.result(a.name))
	}
	r.Phases = append(r.Phases, a.result())
	r.checkDuplicates(a.name, a.flows())
	a.checkCounters(r)
}

// judgeIncast adds the checks of demo incast.
func judgeIncast(a *phase, r *Report) {
	flows := a.flows()
	if a.control {
		a.checkControl(r, flows)
		return
	}
	a.checkLossless(r, flows)
	a.checkPFC(r)
	a.checkRates(r, flows)
}

// checkLossless: nothing lost, reordered or doubled in the lossless priority.
func (a *phase) checkLossless(r *Report, flows []Flow) {
	a.checkWhole(r, flows)
	var reordered uint64
	for _, f := range flows {
		if f.Priority == losslessPriority {
			reordered += f.Reordered
		}
	}
	r.hard(a.name, TopicOrder, "lossless frames reordered", "0", fmt.Sprint(reordered), reordered == 0)
}

// checkDuplicates: no frame of any priority arrives twice.
func (r *Report) checkDuplicates(phase string, flows []Flow) {
	var n uint64
	for _, f := range flows {
		n += f.Duplicated
	}
	r.hard(phase, TopicOrder, "frames duplicated", "0", fmt.Sprint(n), n == 0)
}

// checkWhole: nothing lost in the lossless priority; totals are exchanged, so the tail counts.
func (a *phase) checkWhole(r *Report, flows []Flow) {
	var sent, lost uint64
	for _, f := range flows {
		if f.Priority == losslessPriority {
			sent, lost = sent+f.Sent, lost+f.Lost
		}
	}
	r.hard(a.name, TopicLoss, "lossless frames sent", "more than 0", fmt.Sprint(sent), sent > 0)
	r.hard(a.name, TopicLoss, "lossless frames lost", "0", fmt.Sprint(lost), lost == 0)
	for _, s := range a.switches {
		n := s.state.ports.LosslessDropsSinceStart
		r.hard(a.name, TopicLoss, s.name+": lossless_drops_total", "0", fmt.Sprint(n)+s.drops(), n == 0)
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
func (a *phase) checkPFC(r *Report) {
	for _, s := range a.switches {
		for _, p := range s.ports {
			upstream := p.name != fmt.Sprintf("p%d", senders+1) && p.name != "up"
			n := s.pfc(p.name, losslessPriority).SentXoff
			want := "0"
			if upstream {
				want = "more than 0"
			}
			r.hard(a.name, TopicPFC, fmt.Sprintf("%s:%s: XOFF for priority %d", s.name, p.name, losslessPriority), want,
				fmt.Sprint(n), upstream == (n > 0))
		}
		other := uint64(0)
		for _, p := range s.ports {
			for q := range 8 {
				if q != losslessPriority {
					other += s.pfc(p.name, q).SentFrames
				}
			}
		}
		r.hard(a.name, TopicPFC, s.name+": PFC for other priorities", "0", fmt.Sprint(other), other == 0)
	}
	for _, h := range a.senders {
		got, wrong := h.report.PFCReceived[losslessPriority], uint64(0)
		for q, n := range h.report.PFCReceived {
			if q != losslessPriority {
				wrong += n
			}
		}
		r.hard(a.name, TopicPFC, h.name+": PFC frames received", "more than 0", fmt.Sprint(got), got > 0)
		r.hard(a.name, TopicPFC, h.name+": PFC for other priorities", "0", fmt.Sprint(wrong), wrong == 0)
	}
}

// checkCounters: what went in came out, was dropped or is held; nothing is held at the end; the kernel counted the
// same.
func (a *phase) checkCounters(r *Report) {
	for _, s := range a.switches {
		r.hard(a.name, TopicCounters, s.name+": buffers empty, nobody held", "yes", yes(s.empty()), s.empty())
		in, out := s.balance()
		r.hard(a.name, TopicCounters, s.name+": received + copies = sent + dropped + held", fmt.Sprint(in),
			fmt.Sprint(out), in == out)
		for _, p := range s.ports {
			a.checkKernel(r, s, p)
		}
	}
}

// checkKernel compares a port's counters with the kernel's at both ends of the link.
func (a *phase) checkKernel(r *Report, s *switchNode, p switchPort) {
	received, sent := s.counted(p.name)
	k := s.kernel[p.name]
	r.hard(a.name, TopicCounters, s.name+":"+p.name+": frames received, kernel and switch",
		fmt.Sprint(k.ReceivedFrames), fmt.Sprint(received), k.ReceivedFrames == received)
	r.hard(a.name, TopicCounters, s.name+":"+p.name+": frames sent, kernel and switch", fmt.Sprint(k.SentFrames),
		fmt.Sprint(sent), k.SentFrames == sent)
	peer, err := p.peer.Stats(p.peerInterface)
	ok := err == nil && peer.ReceivedFrames == sent && peer.SentFrames == received
	r.hard(a.name, TopicCounters, s.name+":"+p.name+": the kernel at the far end agrees",
		fmt.Sprintf("%d/%d", sent, received),
		fmt.Sprintf("%d/%d", peer.ReceivedFrames, peer.SentFrames), ok)
}

// counted returns the frames that a port received and sent by the switch's own count, MAC Control included.
func (s *switchNode) counted(port string) (received, sent uint64) {
	for _, p := range s.state.ports.Ports {
		if p.Port == port {
			received, sent = p.ReceiveFrames, p.TransmitFrames
		}
	}
	for _, p := range s.state.pfc.Ports {
		if p.Port == port && len(p.Priorities) > losslessPriority {
			received += p.Priorities[losslessPriority].ReceivedFrames
			sent += p.Priorities[losslessPriority].SentFrames
		}
	}
	for _, p := range s.state.queues.Ports {
		for _, d := range p.Drops {
			if p.Port == port && d.Reason == "ring" {
				received += d.Frames
			}
		}
	}
	return received, sent
}

// balance returns both sides of the switch's account. Frames lost in a ring were never received.
func (s *switchNode) balance() (in, out uint64) {
	for _, p := range s.state.ports.Ports {
		in += p.ReceiveFrames + p.FloodCopies
		out += p.TransmitFrames
	}
	for _, p := range s.state.queues.Ports {
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
func (a *phase) checkControl(r *Report, flows []Flow) {
	var lost, sent uint64
	for _, f := range flows {
		sent += f.Sent
		if f.Priority == losslessPriority {
			lost += f.Lost
		}
	}
	offered := float64(sent*uint64(frame.WireOctets(frameOctets))) * 8
	carried := float64(a.speed)*(a.seconds.Seconds()+1) + 2*8*float64(a.poolOctets())
	r.control(a.name, "priority 3 frames lost without flow control", "more than 0", fmt.Sprint(lost), lost > 0,
		offered > carried)
	if a.flowControl == "off" {
		n := a.switches[0].result(a.name).PFCSent
		r.hard(a.name, TopicPFC, "s1: PFC sent", "0", fmt.Sprint(n), n == 0)
	}
}

// checkRates: the lossless priority fills its share of the bottleneck and shares it fairly; the lossy one loses what
// the weights say. With equal weights the bottleneck gives each priority half.
func (a *phase) checkRates(r *Report, flows []Flow) {
	share := float64(a.speed) / 2
	var total, least, most float64
	least = math.Inf(1)
	var sent, lost uint64
	for _, f := range flows {
		rate := float64(f.Rate)
		if f.Priority == losslessPriority {
			total, least, most = total+rate, min(least, rate), max(most, rate)
		} else {
			sent, lost = sent+f.Sent, lost+f.Lost
		}
	}
	short := a.shortage()
	r.soft(a.name, TopicRate, "lossless share of the bottleneck", fmt.Sprintf("at least %.0f %%", 100*fillLimit),
		fmt.Sprintf("%.1f %%", 100*total/share), fillLimit-total/share, short)
	mean := total / senders
	spread := max(most-mean, mean-least) / max(1, mean)
	// What two senders could not take, the third one had: it is off the mean by twice as much.
	r.soft(a.name, TopicRate, "lossless senders differ from their mean",
		fmt.Sprintf("at most %.0f %%", 100*fairnessLimit),
		fmt.Sprintf("%.1f %%", 100*spread), (spread-fairnessLimit)/(senders-1), short)
	offered := float64(sent*uint64(frame.WireOctets(frameOctets))*8) / a.seconds.Seconds()
	want := max(0, 1-share/max(1, offered))
	got := float64(lost) / float64(max(1, sent))
	r.soft(a.name, TopicRate, "lossy frames lost", fmt.Sprintf("%.0f %% within %.0f points", 100*want, 100*lossLimit),
		fmt.Sprintf("%.1f %%", 100*got), math.Abs(got-want)-lossLimit, short)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
