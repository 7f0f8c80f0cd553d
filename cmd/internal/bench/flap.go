package bench

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// What a round of flaps is.
const (
	flapRate   = 20_000 // frames/s that a sender offers all the time
	flapSeries = 5      // flaps
	flapDown   = 300 * time.Millisecond
)

// flap sets the far end of port 2's link down and up again, and measures the time until frames come again. The time of
// the bridge, which is the kernel's own for the link, is measured too.
func (b *bench) flap() error {
	var all []*network
	for _, dut := range []string{dutPFC, dutBridge} {
		if !b.opt.compares(dut) {
			continue
		}
		n, err := b.startNetwork("flap-"+dut, dut, 2, flapYAML+staticEntries(2))
		if err != nil {
			return err
		}
		if err := n.forwards(); err != nil {
			return err
		}
		all = append(all, n)
	}
	return b.eachRound(func(round int) error {
		for _, n := range alternate(all, round) {
			if err := n.flapRound(round); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", n.dut, err), n.alive())
			}
		}
		return nil
	})
}

// flapYAML is a switch that sends no frame of its own.
const flapYAML = `preset: roce
metrics: {listen: "127.0.0.1:9808"}
lldp: {agent: off}
ports:
  p1: {speed: none, tagged: [10], loop: off}
  p2: {speed: none, tagged: [10], loop: off}
`

// flapRound is a series of flaps under load.
func (n *network) flapRound(round int) error {
	b := n.b
	l := load{octets: 60, priority: probePriority, time: time.Hour, rate: flapRate}
	sender, err := b.send(n.flowsToHost2(1)[0], l)
	if err != nil {
		return err
	}
	defer sender.stop()
	series := flapSeries
	if b.opt.smoke {
		series = 1
	}
	var took []float64 // ms
	for range series {
		t, err := n.flapOnce()
		if err != nil {
			return err
		}
		took = append(took, t.Seconds()*1e3)
	}
	all := statsOf(took)
	b.record("flap", fmt.Sprintf("far_end_down_ms=%d", flapDown.Milliseconds()), n.dut, round,
		value{outage, all.median}, value{outageMost, all.most}, value{count, float64(series)})
	return nil
}

// flapOnce returns the time from the command that sets the link up to the first frame.
func (n *network) flapOnce() (time.Duration, error) {
	receiver := n.hosts[1]
	if err := n.awaitFrames(); err != nil {
		return 0, err
	}
	if err := receiver.LinkDown("eth0"); err != nil {
		return 0, err
	}
	if err := n.b.sleep(flapDown); err != nil {
		return 0, err
	}
	before, err := n.received()
	if err := cmp.Or(err, n.b.sleep(20*time.Millisecond)); err != nil {
		return 0, err
	}
	if after, err := n.received(); err != nil || after != before {
		return 0, cmp.Or(err, errors.New("frames come through a link that is down"))
	}
	start := time.Now()
	if err := receiver.LinkUp("eth0"); err != nil {
		return 0, err
	}
	err = n.awaitFrames()
	return time.Since(start), err
}

// awaitFrames waits until frames come at host 2. Its looks are close together: they measure.
func (n *network) awaitFrames() error {
	before, err := n.received()
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); time.Sleep(20 * time.Microsecond) {
		now, failed := n.received()
		if now > before {
			return nil
		}
		err = cmp.Or(failed, n.b.ctx.Err())
	}
	return cmp.Or(err, fmt.Errorf("no frame came within %v", patience))
}
