package demo

import (
	"fmt"
	"math"
)

// report adds what the act showed to the report, and what any act has to show.
func (a *act) report(r *Report) {
	r.Flows = append(r.Flows, a.flows()...)
	for _, s := range a.switches {
		r.Switches = append(r.Switches, s.result(a.name))
	}
	r.Acts = append(r.Acts, ActResult{Act: a.name, Title: a.title, Control: a.control, Waiting: a.waiting, Behind: a.behind(), LongestStall: a.longestStall()})
	a.checkMachine(r)
	a.checkCounters(r)
}

// judgeIncast judges what an act of demo incast showed.
func judgeIncast(a *act, r *Report) {
	flows := a.flows()
	if a.control {
		a.checkControl(r, flows)
		return
	}
	a.checkLossless(r, flows)
	a.checkPFC(r)
	a.checkRates(r, flows)
}

// checkMachine notes where the machine was the limit: then nothing may be judged.
func (a *act) checkMachine(r *Report) {
	switch {
	case r.Machine != "":
	case a.waiting > waitLimit:
		r.Machine = fmt.Sprintf("act %s: a process waited for a CPU for %.0f %% of the run, more than %.0f %%", a.name, 100*a.waiting, 100*waitLimit)
	case a.behind() > behindLimit:
		r.Machine = fmt.Sprintf("act %s: a sender could not offer its rate, it stayed %.0f %% behind", a.name, 100*a.behind())
	}
}

// checkLossless: nothing lost, reordered or doubled in the lossless priority.
func (a *act) checkLossless(r *Report, flows []Flow) {
	a.checkWhole(r, flows)
	var reordered uint64
	for _, f := range flows {
		if f.Priority == losslessPriority {
			reordered += f.Reordered
		}
	}
	r.check(a.name, KindOrder, "lossless frames reordered", "0", fmt.Sprint(reordered), reordered == 0)
}

// checkWhole: nothing lost or doubled in the lossless priority; totals are exchanged, so the tail counts.
func (a *act) checkWhole(r *Report, flows []Flow) {
	var sent, lost, duplicated uint64
	for _, f := range flows {
		if f.Priority == losslessPriority {
			sent, lost, duplicated = sent+f.Sent, lost+f.Lost, duplicated+f.Duplicated
		}
	}
	r.check(a.name, KindLoss, "lossless frames sent", "more than 0", fmt.Sprint(sent), sent > 0)
	r.check(a.name, KindLoss, "lossless frames lost", "0", fmt.Sprint(lost), lost == 0)
	r.check(a.name, KindOrder, "lossless frames duplicated", "0", fmt.Sprint(duplicated), duplicated == 0)
	for _, s := range a.switches {
		n := s.state.ports.LosslessDropsSinceStart
		r.check(a.name, KindLoss, s.name+": lossless_drops_total", "0", fmt.Sprint(n)+s.drops(), n == 0)
	}
}

// drops says what a switch has dropped, where it came in, and why; nothing where it has dropped nothing.
func (s *switchNode) drops() (text string) {
	for _, p := range s.state.queues.Ports {
		for _, d := range p.Drops {
			text += fmt.Sprintf(", port %s %s: %d", p.Port, d.Reason, d.Frames)
		}
	}
	return text
}

// checkPFC: pauses went from the bottleneck back to every sender, for the lossless priority only.
func (a *act) checkPFC(r *Report) {
	for _, s := range a.switches {
		for _, p := range s.ports {
			upstream := p.name != fmt.Sprintf("p%d", senders+1) && p.name != "up"
			n := s.xoffSent(p.name, losslessPriority)
			want := "0"
			if upstream {
				want = "more than 0"
			}
			r.check(a.name, KindPFC, fmt.Sprintf("%s:%s: XOFF for priority %d", s.name, p.name, losslessPriority), want, fmt.Sprint(n), upstream == (n > 0))
		}
		other := uint64(0)
		for _, p := range s.ports {
			for q := range 8 {
				if q != losslessPriority {
					other += s.pfcSent(p.name, q)
				}
			}
		}
		r.check(a.name, KindPFC, s.name+": PFC for other priorities", "0", fmt.Sprint(other), other == 0)
	}
	for _, h := range a.senders {
		got, wrong := h.report.PFCReceived[losslessPriority], uint64(0)
		for q, n := range h.report.PFCReceived {
			if q != losslessPriority {
				wrong += n
			}
		}
		r.check(a.name, KindPFC, h.name+": PFC frames received", "more than 0", fmt.Sprint(got), got > 0)
		r.check(a.name, KindPFC, h.name+": PFC for other priorities", "0", fmt.Sprint(wrong), wrong == 0)
	}
}

// checkCounters: what went in came out, was dropped or is held; nothing is held at the end; the kernel counted the same.
func (a *act) checkCounters(r *Report) {
	for _, s := range a.switches {
		r.check(a.name, KindCounters, s.name+": buffers empty, nobody held", "yes", yes(s.empty()), s.empty())
		in, out := s.balance()
		r.check(a.name, KindCounters, s.name+": received + copies = sent + dropped + held", fmt.Sprint(in), fmt.Sprint(out), in == out)
		for _, p := range s.ports {
			a.checkKernel(r, s, p)
		}
	}
}

// checkKernel compares a port's counters with the kernel's at both ends of the link.
func (a *act) checkKernel(r *Report, s *switchNode, p switchPort) {
	received, sent := s.counted(p.name)
	k := s.kernel[p.name]
	r.check(a.name, KindCounters, s.name+":"+p.name+": frames received, kernel and switch", fmt.Sprint(k.ReceivedFrames), fmt.Sprint(received), k.ReceivedFrames == received)
	r.check(a.name, KindCounters, s.name+":"+p.name+": frames sent, kernel and switch", fmt.Sprint(k.SentFrames), fmt.Sprint(sent), k.SentFrames == sent)
	peer, err := p.peer.Stats(p.peerI)
	ok := err == nil && peer.ReceivedFrames == sent && peer.SentFrames == received
	r.check(a.name, KindCounters, s.name+":"+p.name+": the kernel at the far end agrees", fmt.Sprintf("%d/%d", sent, received),
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

// checkControl: without flow control the same load loses frames of the lossless priority.
func (a *act) checkControl(r *Report, flows []Flow) {
	lost := uint64(0)
	for _, f := range flows {
		if f.Priority == losslessPriority {
			lost += f.Lost
		}
	}
	r.check(a.name, KindControl, "priority 3 frames lost without flow control", "more than 0", fmt.Sprint(lost), lost > 0)
}

// checkRates: the lossless priority fills its share of the bottleneck and shares it fairly; the lossy one loses what the
// weights say. With equal weights the bottleneck gives each priority half; a sender's lossy queue offers what its
// lossless one leaves.
func (a *act) checkRates(r *Report, flows []Flow) {
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
	r.check(a.name, KindRate, "lossless share of the bottleneck", fmt.Sprintf("at least %.0f %%", 100*fillLimit),
		fmt.Sprintf("%.1f %%", 100*total/share), total >= fillLimit*share)
	mean := total / senders
	spread := max(most-mean, mean-least) / max(1, mean)
	r.check(a.name, KindRate, "lossless senders differ from their mean", fmt.Sprintf("at most %.0f %%", 100*fairnessLimit),
		fmt.Sprintf("%.1f %%", 100*spread), spread <= fairnessLimit)
	offered := float64(senders)*float64(a.speed) - share
	want := 1 - share/offered
	got := float64(lost) / float64(max(1, sent))
	r.check(a.name, KindRate, "lossy frames lost", fmt.Sprintf("%.0f %% within %.0f points", 100*want, 100*lossLimit),
		fmt.Sprintf("%.1f %%", 100*got), math.Abs(got-want) <= lossLimit)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
