package bench

import (
	"errors"
	"fmt"

	"pfcswitch/cmd/internal/api"
)

// How many samples a percentile needs: of fewer it is the largest.
const (
	enough99  = 100
	enough999 = 1000
)

// reactionValues returns how many reactions there were and their quantiles in µs.
func reactionValues(r *api.Reaction) ([]value, error) {
	if r.Count == 0 || r.P50Ns == nil || r.P99Ns == nil || r.MaxNs == nil {
		return nil, errors.New("XOFF was never sent")
	}
	all := []value{{samples, float64(r.Count)}, {p50, float64(*r.P50Ns) / 1e3}}
	if r.Count >= enough99 {
		all = append(all, value{p99, float64(*r.P99Ns) / 1e3})
	}
	return append(all, value{highest, float64(*r.MaxNs) / 1e3}), nil
}

// xoffSpeed is that of a port whose sender is twice as fast, in Mbit/s. Any machine reaches that of a smoke run.
func (o *options) xoffSpeed() int {
	if o.smoke {
		return 100
	}
	return 1000
}

// xoff lets a sender that obeys PFC meet a port that is half as fast, so that the buffer fills again and again.
func (b *bench) xoff() error {
	text := fmt.Sprintf(`preset: roce
metrics: {listen: "127.0.0.1:9808"}
ports:
  p1: {speed: none, tagged: [10]}
  p2: {speed: %dM, tagged: [10]}
`, b.opt.xoffSpeed())
	n, err := b.startNetwork("xoff", dutPFC, 2, text+staticEntries(2))
	if err != nil {
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
	if err := api.NewClient(n.socket).Clear(b.ctx, "counters"); err != nil {
		return err
	}
	receiver, err := b.start(n.hosts[1], b.program, "sink", "eth0", "--speed", "none", "-j")
	if err != nil {
		return err
	}
	defer receiver.stop()
	seconds := max(1, b.opt.seconds.Seconds()) // for hundreds of reactions
	sender, err := b.start(n.hosts[0], b.program, "send", "eth0", "--to", sink, "--vlan", fmt.Sprint(vlan),
		"--flow", "3:octets=1514", "--seconds", fmt.Sprint(seconds),
		"--speed", fmt.Sprintf("%dM", 2*b.opt.xoffSpeed()), "-j")
	if err != nil {
		return err
	}
	if _, err := b.wait(sender, b.opt.seconds+2*patience); err != nil {
		return err
	}
	r, err := show[*api.PFC](n, "pfc")
	if err != nil {
		return err
	}
	return errors.Join(b.recordReaction("admission", round, &r.XoffReaction),
		b.recordReaction("arrival", round, &r.XoffAge))
}

func (b *bench) recordReaction(from string, round int, r *api.Reaction) error {
	values, err := reactionValues(r)
	if err == nil {
		b.record("xoff-reaction", "from="+from, dutPFC, round, values...)
	}
	return err
}
