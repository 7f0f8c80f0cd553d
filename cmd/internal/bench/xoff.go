package bench

import (
	"cmp"
	"errors"
	"fmt"
	"time"

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
	return b.eachRound(n.xoffRound)
}

func (n *network) xoffRound(round int) error {
	b := n.b
	if err := api.NewClient(n.socket).Clear(b.ctx, "counters"); err != nil {
		return err
	}
	receiver, err := b.startSink(n.hosts[1])
	if err != nil {
		return err
	}
	defer receiver.stop()
	sender, err := b.startSender(n.hosts[0], sink, "3:octets=1514", max(b.opt.seconds, time.Second), // for hundreds
		"--speed", fmt.Sprintf("%dM", 2*b.opt.xoffSpeed()))
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
	admission, err := reactionValues(&r.XoffReaction)
	arrival, err2 := reactionValues(&r.XoffAge)
	if err := cmp.Or(err, err2); err != nil {
		return err
	}
	b.record("xoff-reaction", "from=admission", dutPFC, round, admission...)
	b.record("xoff-reaction", "from=arrival", dutPFC, round, arrival...)
	return nil
}
