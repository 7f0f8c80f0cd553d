package simulation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/sim"
	"pfcswitch/macctl"
)

// A Report is the result of a run, in virtual time or of a lab on real links: that of a demo with one phase, and what
// became of each port. Its JSON keys are fixed; new ones may be added.
type Report struct {
	demo.Report
	Scale float64 `json:"scale,omitempty"` // of the file's speeds and rates, where calibrated

	Seed        uint64       `json:"seed"`        // of virtual time
	Lasted      int64        `json:"virtual_ns"`  // from the begin of the traffic until no frame was left, or none moved
	Hops        uint64       `json:"frame_hops"`  // frames that crossed a link, MAC Control frames left out
	Completions []Completion `json:"completions"` // of flows that have a size
	Controls    []Control    `json:"congestion_control"`
	HalfDuplex  []HalfDuplex `json:"half_duplex"`
	Ports       []Port       `json:"ports"`
	LLDP        []LLDP       `json:"lldp,omitempty"` // of ports that speak it, where asked for
	Hosts       []Host       `json:"hosts"`
	Deadlock    bool         `json:"deadlock"`      // frames are held, and none has moved for the stall time
	Cycle       []Wait       `json:"cycle"`         // each waits for the next, and the last for the first
	HeldByHosts []Wait       `json:"held_by_hosts"` // without a cycle: what hosts hold
	Holds       []Hold       `json:"holds"`         // by step, the longest first

	all bool // the text has every port and every hold
}

// A Port is a lossless priority of a switch's port. Of a port with PAUSE, Priority is -1.
type Port struct {
	Switch          string `json:"switch"`
	Port            string `json:"port"`
	Priority        int    `json:"priority"`
	FramesReceived  uint64 `json:"received_frames"` // PFC or PAUSE
	PausedNs        int64  `json:"received_paused_ns"`
	FramesSent      uint64 `json:"transmit_frames"`
	HeldNs          int64  `json:"transmit_paused_ns"`
	PrivatePeak     int64  `json:"private_peak_bytes"`
	SharedPeak      int64  `json:"shared_peak_bytes"`
	HeadroomPeak    int64  `json:"headroom_peak_bytes"`
	HeadroomSize    int64  `json:"headroom_bytes"`
	WaitedForBuffer uint64 `json:"waited_frames"`
	Xoff            uint64 `json:"xoff"` // how often the buffer wanted the peer held; others are of a switch that stood still
}

// A Host is what a host's NIC has obeyed.
type Host struct {
	Name           string    `json:"name"`
	PFCReceived    [8]uint64 `json:"pfc_received_frames"`
	PausedNs       [8]int64  `json:"pfc_received_paused_ns"`
	PausesReceived uint64    `json:"pause_received_frames"`
	PausedAllNs    int64     `json:"pause_received_paused_ns"`
}

// A Wait is an egress queue that holds frames and is paused.
type Wait struct {
	Port     string `json:"port"`
	Priority uint8  `json:"priority"`
	Frames   int    `json:"frames"`
	By       string `json:"paused_by"`
}

// Phase is the name of the only phase.
const Phase = "a"

// report judges the run.
func (f *fabric) report(length time.Duration) *Report {
	r := &Report{Seed: f.seed, Lasted: f.Now() - f.Begun(), Hops: f.Hops(), Deadlock: f.Ending() == sim.Stalled}
	r.Schema, r.Demo, r.Seconds, r.Speed = api.Schema, "sim", length.Seconds(), f.slowest
	r.Phases = []demo.PhaseResult{{Phase: Phase, LockUp: r.Deadlock, Title: fmt.Sprintf(
		"%s for %v, seed %d; switches: %d, hosts: %d, flows: %d; %d frame-hops in %v of virtual time",
		f.topology.Name, length, f.seed, len(f.switches), len(f.hosts), len(f.flows), r.Hops,
		time.Duration(r.Lasted))}}
	f.addFlowResults(r)
	f.addCompletions(r)
	f.addControls(r)
	f.addHalfDuplex(r)
	for _, s := range f.switches {
		f.addSwitch(r, s)
		f.addLLDP(r, s)
	}
	f.addHostResults(r)
	r.AddHolds(f.topology)
	f.checkRun(r)
	r.Judge()
	return r
}

// addFlowResults adds the flows and their checks: loss where a flow is lossless, order and duplicates.
func (f *fabric) addFlowResults(r *Report) {
	inOrder := f.keepsOrder()
	for i := range f.flows {
		fl, v := &f.flows[i], f.Flow(i)
		if fl.size > 0 {
			continue
		}
		lost := v.Sent - min(v.Sent, v.Received)
		r.AddFlow(demo.Flow{Name: fl.from + ">" + fl.to, Priority: fl.Priority,
			Lossless: fl.lossless, Sent: v.Sent, Received: v.Received, Lost: lost, Reordered: v.Reordered,
			Duplicated: v.Duplicated, Rate: v.Rate, Latency: traffic.Latencies{P50: v.Latency.Quantile(.5),
				P99: v.Latency.Quantile(.99), P999: v.Latency.Quantile(.999), Max: v.Latency.Max}},
			inOrder, f.losesNothing(r) && fl.TTL == 0)
	}
}

// AddFlow adds a flow and its checks: duplicates, order where inOrder, and loss where it is lossless and whole says
// that no lossless frame may be missing.
func (r *Report) AddFlow(f demo.Flow, inOrder, whole bool) {
	f.Phase = Phase
	r.Flows = append(r.Flows, f)
	name := fmt.Sprintf("%s priority %d: ", f.Name, f.Priority)
	r.None(demo.TopicLoss, name+"duplicates", f.Duplicated)
	if inOrder {
		r.None(demo.TopicOrder, name+"frames out of order", f.Reordered)
	}
	if f.Lossless && whole {
		r.Hard(Phase, demo.TopicLoss, name+"frames lost", fmt.Sprintf("0 of %d", f.Sent), fmt.Sprint(f.Lost),
			f.Lost == 0)
	}
}

// losesNothing reports whether no lossless frame may be missing: no sender has given any up, and otherwise keepsAll.
func (f *fabric) losesNothing(r *Report) bool { return f.givenUp() == 0 && f.keepsAll(r) }

// keepsAll reports whether no lossless frame may be lost on its way: none is held for ever, no watchdog discards any or
// has a peer send on, and no link goes down.
func (f *fabric) keepsAll(r *Report) bool {
	return !r.Deadlock && !slices.ContainsFunc(f.switches, (*labSwitch).acts) &&
		!slices.ContainsFunc(f.topology.Faults, func(t config.LabFault) bool { return t.Flap != "" })
}

// keepsOrder reports whether no trunk spreads the frames of a flow over its members.
func (f *fabric) keepsOrder() bool {
	return !slices.ContainsFunc(f.switches, func(s *labSwitch) bool {
		return slices.ContainsFunc(s.config.Trunks, func(t config.Trunk) bool {
			return t.Distribution != config.FlowHash
		})
	})
}

// addSwitch adds a switch, its ports and its checks.
func (f *fabric) addSwitch(r *Report, s *labSwitch) {
	var v dataplane.Snapshot
	s.sw.Snapshot(&v, f.Now())
	lost, discarded := v.Losses()
	var rows []Port
	for i := range v.Ports {
		p, b := &v.Ports[i], &v.Buffer.Ports[i]
		for q := range b.Ingress {
			in := &b.Ingress[q]
			if !in.Lossless {
				continue
			}
			row := Port{Port: p.Config.Name, Priority: q, FramesReceived: p.Received.PFCFrames[q],
				PausedNs: p.PausedNs[q], FramesSent: p.ControlSent.PFCFrames[q], HeldNs: p.HeldNs[q],
				PrivatePeak: in.Used.Private.Persistent, SharedPeak: in.Used.Shared.Persistent,
				HeadroomPeak: in.Used.Headroom.Persistent, HeadroomSize: in.Config.Headroom,
				WaitedForBuffer: in.Waited, Xoff: in.Xoff}
			if p.Config.Mode == macctl.ModePause {
				row.Priority, row.FramesReceived = -1, p.Received.PauseFrames
				row.PausedNs = p.PausedAllNs + f.HeldByPeer(sim.End{Node: s.node, Port: i})
				row.FramesSent, row.HeldNs = p.ControlSent.PauseFrames, p.HeldAllNs
			}
			rows = append(rows, row)
		}
	}
	r.AddSwitch(demo.SwitchResult{Name: s.name, LosslessDrops: lost, Discarded: discarded}, rows)
}

// AddSwitch adds a switch with its ports, and the check that it lost no lossless frame.
func (r *Report) AddSwitch(s demo.SwitchResult, ports []Port) {
	s.Phase, s.Headroom = Phase, []demo.Headroom{}
	for _, p := range ports {
		p.Switch = s.Name
		s.PFCSent += p.FramesSent
		s.Headroom = append(s.Headroom, demo.Headroom{Port: p.Port, Priority: p.Priority, Configured: p.HeadroomSize,
			Peak: p.HeadroomPeak})
		r.Ports = append(r.Ports, p)
	}
	r.Switches = append(r.Switches, s)
	r.None(demo.TopicLoss, s.Name+": lossless_drops_total", s.LosslessDrops)
}

// addHostResults adds the hosts in the order of the file.
func (f *fabric) addHostResults(r *Report) {
	for _, h := range f.topology.Hosts {
		if n, ok := f.hosts[h.Name]; ok {
			v := f.Host(n)
			r.Hosts = append(r.Hosts, Host{h.Name, v.Received.PFCFrames, v.PausedNs, v.Received.PauseFrames,
				v.PausedAllNs})
		}
	}
}

// checkRun adds the checks of the whole run: it has ended by itself, and each frame is somewhere.
func (f *fabric) checkRun(r *Report) {
	s, unbalanced := f.Sum()
	r.Hard(Phase, demo.TopicCounters, "frames sent = received + dropped + held", fmt.Sprint(s.Sent+s.Copies),
		fmt.Sprint(s.Received+s.Dropped+s.Held), s.Sent+s.Copies == s.Received+s.Dropped+s.Held)
	got := "they do"
	if len(unbalanced) > 0 {
		got = unbalanced[0]
	}
	r.Hard(Phase, demo.TopicCounters, "the counters of every switch balance", "they do", got, len(unbalanced) == 0)
	r.CheckSent()
	got = "no"
	if r.Deadlock {
		got = fmt.Sprintf("%d frames are held, and none has moved for %v", s.Held, time.Duration(f.Stall))
		for _, w := range f.Cycle() {
			r.Cycle = append(r.Cycle, f.named(w))
		}
		if len(r.Cycle) == 0 {
			for _, w := range f.Fabric.HeldByHosts() {
				r.HeldByHosts = append(r.HeldByHosts, f.named(w))
			}
		}
	}
	r.Hard(Phase, demo.TopicDeadlock, "deadlock", "no", got, !r.Deadlock)
}

func (f *fabric) named(w sim.Wait) Wait {
	return Wait{f.Name(w.End), w.Priority, w.Frames, f.Name(w.By)}
}

// CheckSent adds the check that every flow sent something.
func (r *Report) CheckSent() {
	sent := uint64(math.MaxUint64)
	for i := range r.Flows {
		sent = min(sent, r.Flows[i].Sent)
	}
	r.Hard(Phase, demo.TopicRun, "every flow sends", "more than 0", fmt.Sprint(sent), sent > 0)
}

// None adds a hard check that nothing was counted.
func (r *Report) None(topic, name string, n uint64) {
	r.Hard(Phase, topic, name, "0", fmt.Sprint(n), n == 0)
}

// mostRows is how many rows of ports a person reads.
const mostRows = 40

// rows returns the ports that the text shows, by switch and port as they stand: those with pauses or a used buffer, and
// of too many only those with pauses. hidden is how many others have used their buffer.
func (r *Report) rows() (shown []Port, hidden int) {
	used := slices.DeleteFunc(slices.Clone(r.Ports), func(p Port) bool {
		return p.FramesReceived+p.FramesSent == 0 && p.PrivatePeak+p.SharedPeak+p.HeadroomPeak == 0
	})
	if len(used) <= mostRows || r.all {
		return used, 0
	}
	shown = slices.DeleteFunc(slices.Clone(used), func(p Port) bool { return p.FramesReceived+p.FramesSent == 0 })
	return shown, len(used) - len(shown)
}
