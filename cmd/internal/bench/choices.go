package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A setting is pfcswitch with one choice changed.
type setting struct {
	name   string
	tuning string // for "pfcswitch run --tuning"
	keys   string // of the configuration
}

// asIs is what the others are compared with.
var asIs = setting{name: "as-is"}

func tuned(choice string) setting { return setting{name: choice, tuning: choice} }

var (
	waits    = []setting{tuned("spin=none"), tuned("spin=most"), tuned("spin=endless"), tuned("gather=none")}
	loaded   = []setting{tuned("spin=none"), tuned("spin=short"), tuned("spin=endless"), usual}
	usual    = setting{name: "nice=0", keys: "nice: 0\n"}
	bursts   = []setting{tuned("burst=8"), tuned("burst=256"), tuned("bursts=16")} // the last: up to 1024 frames of a port in a row
	turns    = []setting{tuned("turn=fixed")}
	controls = []setting{tuned("control=frame")}
	workers  = []setting{{name: "workers=per-port", keys: "workers: per-port\n"}}
)

// A contest measures settings, each on a switch that is started anew, so that where a process happens to lie in memory is no
// setting's luck.
type contest struct {
	ports    int
	slow     bool // port 2 has a speed that any host exceeds
	settings []setting
	measure  []measurement
}

// A measurement returns the value first that is compared with the switch as it is.
type measurement struct {
	at  string
	run func(n *network, ports int) ([]value, error)
}

// Rates change within seconds with the pace of the machine: there each setting has a switch as it is beside it.
var contests = []contest{
	{8, false, slices.Concat(waits, workers), []measurement{{"idle", (*network).rest}}},
	{4, false, waits, []measurement{{"few-frames", (*network).fewFrames}, {"some-load", (*network).someLoad}}},
	{4, false, loaded, []measurement{{"half-load", (*network).halfLoad}}},
	{2, false, waits[:1], fullRates},
	{2, false, waits[1:2], fullRates},
	{2, false, waits[3:], fullRates},
	{2, false, bursts[:1], fullRates},
	{2, false, bursts[1:2], fullRates},
	{2, false, controls, fullRates},
	{2, false, []setting{usual}, fullRates},
	{8, false, []setting{usual}, fullRates}, // its hosts want every CPU
	{2, false, workers, fullRates},
	{8, false, workers, fullRates},
	{4, false, slices.Concat(bursts, workers), []measurement{{"beside-flood", (*network).besideFlood}}},
	{8, true, turns, []measurement{{"all-flood-one", (*network).floodOne}}},
}

var fullRates = []measurement{{"full-rate", (*network).fullRate}}

// name tells a setting of the contest from the same one of another contest.
func (t *contest) name(s setting) string {
	if s == asIs && len(t.settings) == 1 {
		return s.name + " beside=" + t.settings[0].name
	}
	return s.name
}

// choices compares pfcswitch as it is with itself where one choice of how workers wait and share their time is another.
// There are so many settings that each measurement takes a third of the usual time.
func (b *bench) choices() (err error) {
	defer func(usual time.Duration) { b.opt.seconds = usual }(b.opt.seconds)
	b.opt.seconds = max(b.opt.seconds/3, 100*time.Millisecond)
	most := 0
	for _, t := range contests {
		most = max(most, t.ports)
	}
	n, err := b.newNetwork("choices", most)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	n.of = ofPFC
	for round := range b.opt.rounds {
		for _, t := range contests {
			if err := n.try(&t, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// try makes a round of a contest.
func (n *network) try(t *contest, round int) error {
	got := map[string]map[string][]value{} // by setting and measurement
	for _, s := range inTurn(rotated(n.b.settingsFor(t), round), round) {
		values, err := n.tried(t, s)
		if err != nil {
			return fmt.Errorf("%s with %d ports: %w", s.name, t.ports, err)
		}
		got[s.name] = values
	}
	for _, m := range t.measure {
		for _, s := range n.b.settingsFor(t) {
			values := got[s.name][m.at]
			if s != asIs {
				values = append(values, value{toAsIs, values[0].v / got[asIs.name][m.at][0].v})
			}
			n.b.record("choice", fmt.Sprintf("at=%s ports=%d setting=%s", m.at, t.ports, t.name(s)), n.of, round, values...)
		}
	}
	return nil
}

// rotated begins with another of the settings in each round: the first follows another contest, on a machine that it has changed.
func rotated(all []setting, round int) []setting {
	first := round % len(all)
	return slices.Concat(all[first:], all[:first])
}

// tried starts the switch with a setting, measures and ends it.
func (n *network) tried(t *contest, s setting) (got map[string][]value, err error) {
	var flags []string
	if s.tuning != "" {
		flags = []string{"--tuning", s.tuning}
	}
	defer n.endPFC()
	if err := n.startPFC(s.keys+t.yaml(), flags...); err != nil {
		return nil, err
	}
	got = map[string][]value{}
	for _, m := range t.measure {
		if got[m.at], err = m.run(n, t.ports); err != nil {
			return nil, fmt.Errorf("%s: %w", m.at, errors.Join(err, n.alive()))
		}
	}
	return got, nil
}

// yaml configures as many ports as the contest has.
func (t *contest) yaml() string {
	all := portsYAML(t.ports)
	if !t.slow {
		return all
	}
	all = strings.ReplaceAll(all, "other: 2048", fmt.Sprintf("other: %d", deepRing))
	return strings.Replace(all, "p2: {speed: none,", "p2: {speed: 100M,", 1)
}

// deepRing holds what a flood brings while its sender waits for a CPU that others have.
const deepRing = 16384

// settingsFor are those of a contest in this run, the switch as it is among them; a smoke run has one other.
func (b *bench) settingsFor(t *contest) []setting {
	all := t.settings
	if b.opt.smoke {
		all = all[:1]
	}
	return slices.Concat([]setting{asIs}, all)
}

// endPFC ends the switch and leaves hosts and links for another.
func (n *network) endPFC() {
	for _, d := range n.daemons {
		d.stop()
		n.b.forget(d)
	}
	n.daemons = nil
}

// rest measures what a switch does while nobody sends.
func (n *network) rest(int) ([]value, error) {
	if err := n.b.sleep(n.b.opt.settle); err != nil {
		return nil, err
	}
	from, err := n.effort()
	if err != nil {
		return nil, err
	}
	if err := n.b.sleep(n.b.opt.seconds); err != nil {
		return nil, err
	}
	until, err := n.effort()
	return until.since(from), err
}

// fewFrames measures latency and CPU time with nothing but probes.
func (n *network) fewFrames(int) ([]value, error) { return n.probeWithEffort(n.hosts[0]) }

// middling is a load of frames/s that a switch has time to wait between.
const middling = 100_000

// someLoad measures the same beside a load that shares the ingress port.
func (n *network) someLoad(int) ([]value, error) { return n.probeBeside(middling, n.hosts[0]) }

// aboutHalf is about half of the frames/s that the switch carries.
const aboutHalf = 500_000

// halfLoad measures the same beside that.
func (n *network) halfLoad(int) ([]value, error) { return n.probeBeside(aboutHalf, n.hosts[0]) }

// besideFlood measures the latency of frames of a port of their own while another floods.
func (n *network) besideFlood(int) ([]value, error) { return n.probeBeside(0, n.hosts[2]) }

func (n *network) probeWithEffort(from *node) ([]value, error) {
	before, err := n.effort()
	if err != nil {
		return nil, err
	}
	values, err := n.probeFrom(from)
	if err != nil {
		return nil, err
	}
	after, err := n.effort()
	return append(values, after.since(before)...), err
}

// probeBeside sends probes while host 1 sends to host 2 at a rate, 0 for as fast as it can.
func (n *network) probeBeside(rate float64, from *node) ([]value, error) {
	b := n.b
	l := load{flows: n.straight(1), octets: b.opt.octets[0], priority: probePriority, rate: rate}
	values, arrived, err := b.beside(l, func() ([]value, error) { return n.probeWithEffort(from) })
	return append(values, value{frameRate, arrived}), err
}

// fullRate measures what arrives when every host of odd number sends to the next as fast as it can, and what a frame takes of the
// switch: where the sender is the limit and a worker spins or gathers, that is its waiting too, and so mostly one by the rate.
func (n *network) fullRate(ports int) ([]value, error) {
	b := n.b
	before, err := n.effort()
	if err != nil {
		return nil, err
	}
	o, err := b.measure(load{flows: n.pairs()[:ports/2], octets: b.opt.octets[0], priority: probePriority, time: b.opt.seconds})
	if err != nil {
		return nil, err
	}
	after, err := n.effort()
	return []value{{frameRate, o.rate}, {ownPerFrame, after.perFrame(before, o.delivered)}, {cpuPerFrame, o.perFrame()}, {offered, float64(o.offered)}, {delivered, float64(o.delivered)}}, err
}

// floodOne lets all other hosts send lossy frames to host 2, far more than its port takes, and measures how it is shared.
func (n *network) floodOne(ports int) ([]value, error) {
	b := n.b
	receiver, err := b.start(n.hosts[1].namespace, b.program, "sink", "eth0", "-j", "--flow-control", "off", "--speed", "none",
		"--seconds", fmt.Sprint((b.opt.seconds + patience).Seconds()))
	if err != nil {
		return nil, err
	}
	defer b.forget(receiver)
	defer receiver.stop()
	var from []int
	for i := 1; i <= ports; i++ {
		if i != 2 {
			from = append(from, i)
		}
	}
	o, err := b.measure(load{flows: n.straight(from...), octets: floodOctets, priority: 0, time: b.opt.seconds})
	if err != nil {
		return nil, err
	}
	receiver.stop()
	share, err := weakest(receiver.stdout.Bytes(), len(from))
	return []value{{ofFair, share}, {frameRate, o.rate}}, err
}

// floodOctets is the length of frames of which a port of 100 Mbit/s takes 23,000 a second.
const floodOctets = 512

// weakest reads of a sink's report what the weakest of so many flows got, as a share of what each would get if all got as much.
func weakest(said []byte, flows int) (float64, error) {
	var r sinkReport
	if err := json.Unmarshal(said, &r); err != nil {
		return 0, fmt.Errorf("report of a sink: %w", err)
	}
	received, sum := make([]uint64, flows), uint64(0) // a flow of which nothing came is not in the report
	for i, f := range r.Flows {
		if i == flows {
			return 0, fmt.Errorf("the sink saw %d flows, not %d", len(r.Flows), flows)
		}
		received[i] = f.Received
		sum += f.Received
	}
	if sum == 0 {
		return 0, errors.New("the sink received nothing")
	}
	return float64(slices.Min(received)) * float64(flows) / float64(sum), nil
}
