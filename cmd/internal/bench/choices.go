package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
)

// A setting is pfcswitch with one choice changed.
type setting struct {
	name   string
	tuning string // for "pfcswitch run --tuning"
	keys   string // of the configuration
}

// baseline is what the others are compared with.
var baseline = setting{name: "as-is"}

func tuned(choice string) setting { return setting{name: choice, tuning: choice} }

var (
	waits    = []setting{tuned("spin=none"), tuned("spin=most"), tuned("spin=endless"), tuned("gather=none")}
	loaded   = []setting{tuned("spin=none"), tuned("spin=short"), tuned("spin=endless"), niceZero}
	niceZero = setting{name: "nice=0", keys: "nice: 0\n"}
	bursts   = []setting{tuned("burst=8"), tuned("burst=256"), tuned("bursts=16")} // the last: 1024 frames of a port
	turns    = []setting{tuned("turn=fixed")}
	controls = []setting{tuned("control=frame")}
	workers  = []setting{{name: "workers=per-port", keys: "workers: per-port\n"}}
)

// An experiment measures settings, each on a switch that is started anew, so that no setting gains by where a process
// happens to lie in memory.
type experiment struct {
	ports    int
	slow     bool // port 2 has a speed that any host exceeds
	settings []setting
	measure  []measurement
}

// A measurement returns the value first that is compared with the baseline.
type measurement struct {
	at  string
	run func(n *network, ports int) ([]value, error)
}

// Rates change within seconds with the speed of the machine: there each setting has a baseline beside it.
var experiments = []experiment{
	{8, false, slices.Concat(waits, workers), []measurement{{"idle", (*network).idleUsage}}},
	{4, false, waits, []measurement{
		{"few-frames", func(n *network, _ int) ([]value, error) { return n.probeShares(n.hosts[0]) }},
		{"some-load", probeUnderLoad(moderateRate, 1)},
	}},
	{4, false, loaded, []measurement{{"half-load", probeUnderLoad(halfRate, 1)}}},
	{2, false, waits[:1], fullRates},
	{2, false, waits[1:2], fullRates},
	{2, false, waits[3:], fullRates},
	{2, false, bursts[:1], fullRates},
	{2, false, bursts[1:2], fullRates},
	{2, false, controls, fullRates},
	{2, false, []setting{niceZero}, fullRates},
	{8, false, []setting{niceZero}, fullRates}, // its hosts want every CPU
	{2, false, workers, fullRates},
	{8, false, workers, fullRates},
	{4, false, slices.Concat(bursts, workers), []measurement{{"beside-flood", probeUnderLoad(0, 3)}}},
	{8, true, turns, []measurement{{"all-flood-one", (*network).floodOne}}},
}

var fullRates = []measurement{{"full-rate", (*network).fullRate}}

// name distinguishes baselines of experiments with one setting.
func (e *experiment) name(s setting) string {
	if s == baseline && len(e.settings) == 1 {
		return s.name + " beside=" + e.settings[0].name
	}
	return s.name
}

// choices compares pfcswitch with itself, with one choice changed of how workers wait and share their time. There are
// so many settings that each measurement takes a third of the usual time.
func (b *bench) choices() error {
	defer func(usual time.Duration) { b.opt.seconds = usual }(b.opt.seconds)
	b.opt.seconds = max(b.opt.seconds/3, 100*time.Millisecond)
	most := slices.MaxFunc(experiments, func(a, b experiment) int { return a.ports - b.ports }).ports
	n, err := b.newNetwork("choices", dutPFC, most)
	if err != nil {
		return err
	}
	return b.eachRound(func(round int) error {
		for _, e := range experiments {
			if err := n.experimentRound(&e, round); err != nil {
				return err
			}
		}
		return nil
	})
}

// experimentRound measures every setting of an experiment once.
func (n *network) experimentRound(e *experiment, round int) error {
	settings := n.b.settingsFor(e)
	got := map[string][][]value{} // by setting, of each measurement
	for _, s := range alternate(rotated(settings, round), round) {
		values, err := n.measureSetting(e, s)
		if err != nil {
			return fmt.Errorf("%s with %d ports: %w", s.name, e.ports, err)
		}
		got[s.name] = values
	}
	for i, m := range e.measure {
		for _, s := range settings {
			values := got[s.name][i]
			if s != baseline {
				values = append(values, value{toAsIs, values[0].v / got[baseline.name][i][0].v})
			}
			conditions := fmt.Sprintf("at=%s ports=%d setting=%s", m.at, e.ports, e.name(s))
			n.b.record("choice", conditions, n.dut, round, values...)
		}
	}
	return nil
}

// rotated begins with another of the settings in each round: the first one follows another experiment, on a machine
// that this has changed.
func rotated(all []setting, round int) []setting {
	first := round % len(all)
	return slices.Concat(all[first:], all[:first])
}

// measureSetting starts the switch with a setting, measures and ends it.
func (n *network) measureSetting(e *experiment, s setting) (all [][]value, err error) {
	var flags []string
	if s.tuning != "" {
		flags = []string{"--tuning", s.tuning}
	}
	defer n.stopSwitch()
	if err := n.startPFC(s.keys+e.yaml(), flags...); err != nil {
		return nil, err
	}
	for _, m := range e.measure {
		values, err := m.run(n, e.ports)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.at, errors.Join(err, n.alive()))
		}
		all = append(all, values)
	}
	return all, nil
}

// yaml configures as many ports as the experiment has.
func (e *experiment) yaml() string {
	all := portsYAML(e.ports)
	if !e.slow {
		return all
	}
	all = strings.ReplaceAll(all, "other: 2048", fmt.Sprintf("other: %d", deepRing))
	return strings.Replace(all, "p2: {speed: none,", "p2: {speed: 100M,", 1)
}

// deepRing holds what a flood brings while its sender waits for a CPU that others have.
const deepRing = 16384

// settingsFor are those of an experiment in this run, the baseline among them; a smoke run has one other.
func (b *bench) settingsFor(e *experiment) []setting {
	if b.opt.smoke {
		return []setting{baseline, e.settings[0]}
	}
	return slices.Concat([]setting{baseline}, e.settings)
}

// idleUsage measures what a switch does while nobody sends.
func (n *network) idleUsage(int) ([]value, error) {
	if err := n.b.sleep(n.b.opt.settle); err != nil {
		return nil, err
	}
	used, err := n.usageOf(func() error { return n.b.sleep(n.b.opt.seconds) })
	return used.shares(), err
}

// Loads of frames/s that share the ingress port with probes.
const (
	moderateRate = 100_000 // a switch has time to wait between its frames
	halfRate     = 500_000 // about half of what the switch carries
)

// probeUnderLoad measures probes from a host while host 1 sends to host 2 at a rate, 0 for as fast as it can.
func probeUnderLoad(rate float64, from int) func(n *network, ports int) ([]value, error) {
	return func(n *network, _ int) ([]value, error) {
		l := load{flows: n.flowsToHost2(1), octets: n.b.opt.octets[0], priority: probePriority, rate: rate}
		values, arrived, err := n.b.underLoad(l, func() ([]value, error) { return n.probeShares(n.hosts[from-1]) })
		return append(values, value{frameRate, arrived}), err
	}
}

// probeShares is probe, with the CPU time of the switch and of the machine.
func (n *network) probeShares(from *lab.Node) ([]value, error) {
	values, used, err := n.probeUsage(from)
	return append(values, used.shares()...), err
}

// fullRate measures what arrives when every host of odd number sends to the next as fast as it can, and what a frame
// takes of the switch. Where the sender is the limit, the time that a worker spins or moderates is in that.
func (n *network) fullRate(ports int) ([]value, error) {
	l := load{flows: n.pairFlows()[:ports/2], octets: n.b.opt.octets[0], priority: probePriority, time: n.b.opt.seconds}
	var o outcome
	used, err := n.usageOf(func() (err error) {
		o, err = n.b.measure(l)
		return err
	})
	return []value{
		{frameRate, o.rate}, {ownPerFrame, used.perFrame(o.delivered)}, {cpuPerFrame, o.perFrame()},
		{offered, float64(o.offered)}, {delivered, float64(o.delivered)},
	}, err
}

// floodOne lets all other hosts send lossy frames to host 2, far more than its port takes, and measures how the port is
// shared.
func (n *network) floodOne(ports int) ([]value, error) {
	receiver, err := n.b.startSink(n.hosts[1], "--flow-control", "off")
	if err != nil {
		return nil, err
	}
	defer receiver.stop()
	var from []int
	for i := 1; i <= ports; i++ {
		if i != 2 {
			from = append(from, i)
		}
	}
	o, err := n.b.measure(load{flows: n.flowsToHost2(from...), octets: floodOctets, priority: 0, time: n.b.opt.seconds})
	if err != nil {
		return nil, err
	}
	receiver.stop()
	var r traffic.SinkReport
	if err := n.b.report(receiver, patience, &r); err != nil {
		return nil, err
	}
	share, err := weakestShare(r.Flows, len(from))
	return []value{{ofFairShare, share}, {frameRate, o.rate}}, err
}

// floodOctets is the length of frames of which a port of 100 Mbit/s takes 23,000 a second.
const floodOctets = 512

// weakestShare returns what the weakest of so many flows got, as a share of what each would get if all got as much.
func weakestShare(flows []traffic.ReceivedFlow, number int) (float64, error) {
	weakest, sum := math.Inf(1), 0.0
	for _, f := range flows {
		weakest = min(weakest, float64(f.Received))
		sum += float64(f.Received)
	}
	switch {
	case len(flows) > number:
		return 0, fmt.Errorf("the sink saw %d flows, not %d", len(flows), number)
	case sum == 0:
		return 0, errors.New("the sink received nothing")
	case len(flows) < number:
		return 0, nil // a flow of which nothing came is not in the report
	}
	return weakest * float64(number) / sum, nil
}
