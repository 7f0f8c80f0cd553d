package labrun

import (
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/traffic"
)

// report judges the run.
func (r *run) report() *simulation.Report {
	report := &simulation.Report{Lasted: int64(r.length)}
	report.Schema, report.Demo, report.Seconds, report.Speed = api.Schema, "lab run", r.length.Seconds(), r.plan.Slowest
	if report.Calibration = r.calibration; r.calibration != nil {
		report.Scale = r.scale
	}
	for _, e := range r.sinks {
		for _, f := range e.received.Flows {
			report.Lasted = max(report.Lasted, f.LastAt-r.start.UnixNano())
		}
	}
	p := demo.PhaseResult{Phase: simulation.Phase}
	flows, controls := make([]flow, len(r.plan.Flows)), make([]simulation.Control, len(r.plan.Flows))
	for _, e := range r.senders {
		p.Behind, p.LongestStall = max(p.Behind, e.sent.Behind), max(p.LongestStall, e.sent.LongestStall)
		r.joinFlows(flows, controls, e)
		report.Hops += e.sent.Frames
	}
	r.addFlows(report, flows, controls)
	for _, s := range r.topology.Switches {
		r.addSwitch(report, s.Name)
	}
	r.addHosts(report)
	report.AddHolds(r.topology)
	if waits := r.waits(); !r.drained() && len(waits) > 0 {
		report.AddWaits(r.topology, waits)
	}
	report.CheckSent()
	p.LockUp = report.Deadlock
	p.Title = fmt.Sprintf("%s for %v on real links; switches: %d, hosts: %d, flows: %d; %d frame-hops in %v; the "+
		"slowest sender missed %.1f %% of what it was to send", r.topology.Name, r.length, len(r.topology.Switches),
		len(r.topology.Hosts), len(r.plan.Flows), report.Hops, time.Duration(report.Lasted).Round(time.Millisecond),
		100*p.Behind)
	report.Phases = []demo.PhaseResult{p}
	report.Judge()
	return report
}

// addFlows adds what became of the flows of the plan.
func (r *run) addFlows(report *simulation.Report, flows []flow, controls []simulation.Control) {
	var sized []simulation.SizedFlow
	for i, f := range flows {
		p := &r.plan.Flows[i]
		if p.DCQCN {
			report.AddControl(controls[i], p.LabTraffic, p.Size > 0)
		}
		if p.Size == 0 {
			report.AddFlow(f.Flow, r.plan.InOrder, r.plan.Whole)
			continue
		}
		s := simulation.SizedFlow{LabTraffic: p.LabTraffic, Size: p.Size, Lossless: p.Lossless, Sent: f.Sent,
			Received: f.Received, Reordered: f.Reordered}
		if f.Received == p.Frames {
			s.Took = f.lastAt - r.start.Add(p.Start).UnixNano()
		}
		sized = append(sized, s)
	}
	report.AddCompletions(r.topology, sized, r.plan.InOrder, r.plan.Whole)
}

// A flow is what sender and sink say of one of the plan.
type flow struct {
	demo.Flow
	lastAt int64 // when its last frame came, ns since 1970
}

// joinFlows joins the counters of a sender and its sinks. A flow that its sink has not seen lost all frames.
func (r *run) joinFlows(flows []flow, controls []simulation.Control, e *endpoint) {
	for k, sf := range e.sent.Flows {
		f := &r.plan.Flows[e.flows[k]]
		result := flow{Flow: demo.Flow{Name: f.From + ">" + f.To, Priority: f.Priority, Lossless: f.Lossless,
			Sent: sf.Sent, Lost: sf.Sent}}
		c := simulation.Control{Name: result.Name, Priority: f.Priority, Received: sf.CNPs, Rate: sf.FinalRate}
		received := r.sinks[f.To].received.Flows
		if i := slices.IndexFunc(received, func(rf traffic.ReceivedFlow) bool {
			return rf.Source == e.sent.Source && rf.Flow == sf.Flow && rf.Priority == sf.Priority
		}); i >= 0 {
			rf := &received[i]
			result.Received, result.Reordered, result.Duplicated = rf.Received, rf.Reordered, rf.Duplicated
			result.Lost, result.Latency = sf.Sent-min(sf.Sent, rf.Received), rf.Latency
			result.Rate, result.lastAt = r.rate(f, rf.SlotBits), rf.LastAt
			c.Marked, c.Sent = rf.Marked, rf.CNPs
		}
		flows[e.flows[k]], controls[e.flows[k]] = result, c
	}
}

// rate is that of arrival while all flows were sending, or, where they never were at once, while this one was. It is
// taken from whole slots.
func (r *run) rate(f *simulation.PlannedFlow, bits []uint64) int64 {
	from, until := time.Duration(0), r.length
	for i := range r.plan.Flows {
		other := &r.plan.Flows[i]
		from, until = max(from, other.Start), min(until, other.Stop)
	}
	if from >= until {
		from, until = f.Start, f.Stop
	}
	slot := r.length / slots
	first, last := int((from+slot-1)/slot), int(until/slot)
	sum := uint64(0)
	for _, n := range bits[min(first, len(bits)):min(last, len(bits))] {
		sum += n
	}
	return int64(float64(sum) / max(slot.Seconds(), float64(last-first)*slot.Seconds()))
}

// addSwitch adds a switch, with what its counters have grown by during the run. Peaks are those since it started.
func (r *run) addSwitch(report *simulation.Report, name string) {
	before, after := r.before[name], r.after[name]
	restarted := !after.Started.Equal(before.Started)
	report.Yes(simulation.Phase, demo.TopicRun, name+": runs to the end", !restarted)
	if restarted {
		before = &api.State{}
	}
	result := demo.SwitchResult{Name: name,
		LosslessDrops: after.LosslessDropsSinceStart - before.LosslessDropsSinceStart,
		Discarded:     after.LosslessDiscardedSinceStart - before.LosslessDiscardedSinceStart}
	for i := range after.Ports {
		report.Hops += after.Ports[i].TransmitFrames
		if i < len(before.Ports) {
			report.Hops -= before.Ports[i].TransmitFrames
		}
	}
	report.AddSwitch(result, portRows(before, after))
	in, out := demo.Balance(after.Ports, after.Queues)
	report.Hard(simulation.Phase, demo.TopicCounters, name+": received + copies = sent + dropped + held",
		fmt.Sprint(in), fmt.Sprint(out), in == out)
	report.Yes(simulation.Phase, demo.TopicCounters, name+": buffers empty, nobody held",
		demo.Empty(after.Pools, after.PFC))
}

// waits are the egress queues that hold frames and are paused.
func (r *run) waits() (all []simulation.Wait) {
	for _, s := range r.topology.Switches {
		for _, p := range r.after[s.Name].Queues {
			for _, q := range p.Queues {
				if q.Frames > 0 && q.PausedByPeer {
					all = append(all, simulation.Wait{Port: s.Name + ":" + p.Port, Priority: uint8(q.Queue),
						Frames: q.Frames})
				}
			}
		}
	}
	return all
}

// portRows are the lossless priorities of a switch's ports.
func portRows(before, after *api.State) (rows []simulation.Port) {
	for i := range after.PFC {
		p := &after.PFC[i]
		for k, q := range p.Priorities {
			if !q.Lossless {
				continue
			}
			row := simulation.Port{Port: p.Port, Priority: int(q.Priority), FramesReceived: q.ReceivedFrames,
				PausedNs: q.ReceivedPausedNs, FramesSent: q.SentFrames, HeldNs: q.SentPausedNs}
			if i < len(before.PFC) && k < len(before.PFC[i].Priorities) {
				was := &before.PFC[i].Priorities[k]
				row.FramesReceived -= was.ReceivedFrames
				row.PausedNs -= was.ReceivedPausedNs
				row.FramesSent -= was.SentFrames
				row.HeldNs -= was.SentPausedNs
			}
			if q.Priority == api.All {
				row.Priority = -1
			}
			addBuffer(&row, before.Buffer, after.Buffer, q.Priority)
			rows = append(rows, row)
		}
	}
	return rows
}

// addBuffer adds what a port's ingress queue has used.
func addBuffer(row *simulation.Port, before, after []api.BufferPort, priority api.Priority) {
	find := func(ports []api.BufferPort) (found *api.IngressQueue) {
		for i := range ports {
			for k := range ports[i].IngressQueues {
				if q := &ports[i].IngressQueues[k]; ports[i].Port == row.Port && q.Priority == priority {
					found = q
				}
			}
		}
		return found
	}
	if q := find(after); q != nil {
		row.PrivatePeak, row.SharedPeak = q.Segments.Private.MaxStartBytes, q.Segments.Shared.MaxStartBytes
		row.HeadroomPeak, row.HeadroomSize = q.Segments.Headroom.MaxStartBytes, *q.Segments.Headroom.SizeBytes
		row.WaitedForBuffer, row.Xoff = q.WaitedFrames, q.Xoff
	}
	if q := find(before); q != nil {
		row.WaitedForBuffer -= q.WaitedFrames
		row.Xoff -= q.Xoff
	}
}

// addHosts adds what the hosts' senders have obeyed, in the order of the file.
func (r *run) addHosts(report *simulation.Report) {
	for _, h := range r.topology.Hosts {
		for _, e := range r.senders {
			if s := &e.sent; e.host == h.Name {
				report.Hosts = append(report.Hosts, simulation.Host{Name: h.Name, PFCReceived: s.PFCReceived,
					PausedNs: s.Paused, PausesReceived: s.PauseFrames, PausedAllNs: s.PauseTime})
			}
		}
	}
}
