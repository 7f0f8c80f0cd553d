package bench

import (
	"errors"
	"fmt"
)

// A reaction is one of those that "show pfc" knows.
type reaction struct {
	Count uint64
	P50   *int64 `json:"p50_ns"`
	P99   *int64 `json:"p99_ns"`
	Max   *int64 `json:"max_ns"`
}

// How many samples a percentile needs: of fewer it is the largest.
const (
	enough99  = 100
	enough999 = 1000
)

// values returns how many reactions there were and their quantiles in µs.
func (r *reaction) values() ([]value, error) {
	if r.Count == 0 || r.P50 == nil || r.P99 == nil || r.Max == nil {
		return nil, errors.New("XOFF was never sent")
	}
	all := []value{{samples, float64(r.Count)}, {p50, float64(*r.P50) / 1e3}}
	if r.Count >= enough99 {
		all = append(all, value{p99, float64(*r.P99) / 1e3})
	}
	return append(all, value{highest, float64(*r.Max) / 1e3}), nil
}

// xoffSpeed is that of a port whose sender is twice as fast, in Mbit/s: slow enough for any machine where only the way is tried.
func (o *options) xoffSpeed() int {
	if o.smoke {
		return 100
	}
	return 1000
}

// xoff lets a sender that obeys PFC meet a port that is half as fast, so that the buffer fills again and again.
func (b *bench) xoff() (err error) {
	n, err := b.newNetwork("xoff", 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	text := fmt.Sprintf(`preset: roce
metrics: {listen: "127.0.0.1:9808"}
ports:
  p1: {speed: none, tagged: [10]}
  p2: {speed: %dM, tagged: [10]}
`, b.opt.xoffSpeed())
	if err := n.startPFC(text + staticEntries(2)); err != nil {
		return err
	}
	for round := range b.opt.rounds {
		if err := n.xoffRound(round); err != nil {
			return err
		}
	}
	return nil
}

func (n *network) xoffRound(round int) error {
	b := n.b
	if _, err := b.do(n.sw.namespace, b.program, "clear", "counters", "-s", n.socket); err != nil {
		return err
	}
	receiver, err := b.start(n.hosts[1].namespace, b.program, "sink", "eth0", "--speed", "none", "-j")
	if err != nil {
		return err
	}
	defer func() {
		receiver.stop()
		b.forget(receiver)
	}()
	seconds := max(1, b.opt.seconds.Seconds()) // for hundreds of reactions
	sender, err := b.start(n.hosts[0].namespace, b.program, "send", "eth0", "--to", sink, "--vlan", fmt.Sprint(vlan), "--flow", "3:octets=1514", "--seconds",
		fmt.Sprint(seconds), "--speed", fmt.Sprintf("%dM", 2*b.opt.xoffSpeed()), "-j")
	if err != nil {
		return err
	}
	if _, err := b.wait(sender, b.opt.seconds+2*patience); err != nil {
		return err
	}
	var said struct {
		FromAdmission reaction `json:"xoff_reaction"`
		FromArrival   reaction `json:"xoff_since_arrival"`
	}
	if err := n.show(&said, "pfc"); err != nil {
		return err
	}
	return errors.Join(b.recordReaction("admission", round, &said.FromAdmission), b.recordReaction("arrival", round, &said.FromArrival))
}

func (b *bench) recordReaction(from string, round int, r *reaction) error {
	values, err := r.values()
	if err == nil {
		b.record("xoff-reaction", "from="+from, ofPFC, round, values...)
	}
	return err
}
