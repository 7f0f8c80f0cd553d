package bench

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"
)

// flapRate is what a sender offers while the port's link goes down and comes back, frames/s.
const flapRate = 20_000

// flap takes the link of port 2 away at the far end, gives it back, and looks how long it takes until frames come again. The
// bridge, whose time is the kernel's own for the link, stands beside it.
func (b *bench) flap() (err error) {
	var all []*flapper
	defer func() {
		for _, f := range all {
			err = errors.Join(err, f.end())
		}
	}()
	for _, name := range []string{ofPFC, ofBridge} {
		if !b.opt.compares(name) {
			continue
		}
		f, err := b.flapper(name)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	b.once("Flaps: pfcswitch runs with LLDP and its probes against loops off, so that no frame comes but the sender's.")
	for round := range b.opt.rounds {
		for _, f := range inTurn(all, round) {
			if err := f.round(round); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", f.of, err), f.alive())
			}
		}
	}
	return nil
}

// A flapper is a network with an "ip" that waits for commands at host 2, so that starting it takes no time.
type flapper struct {
	*network
	ip   *process
	tell io.WriteCloser
}

func (b *bench) flapper(of string) (f *flapper, err error) {
	n, err := b.newNetwork("flap-"+of, 2)
	if err != nil {
		return nil, err
	}
	n.of = of
	f = &flapper{network: n}
	if of == ofBridge {
		err = n.startBridge()
	} else {
		err = n.startPFC("preset: roce\nmetrics: {listen: \"127.0.0.1:9808\"}\nlldp: {agent: off}\nports:\n  p1: {speed: none, tagged: [10], loop: off}\n  p2: {speed: none, tagged: [10], loop: off}\n" + staticEntries(2))
	}
	if err == nil {
		err = n.forwards()
	}
	if err == nil {
		f.ip, err = b.startWith(n.hosts[1].namespace, func(c *exec.Cmd) { f.tell, err = c.StdinPipe() }, "ip", "-batch", "-")
	}
	if err != nil {
		return nil, errors.Join(err, f.end())
	}
	return f, nil
}

func (f *flapper) end() error {
	if f.tell != nil {
		_ = f.tell.Close() // its end shows in the process's
	}
	if f.ip != nil {
		f.ip.stop()
		f.b.forget(f.ip)
	}
	return f.network.close()
}

// flapSeries is how many flaps a round has.
const flapSeries = 5

// round is a series of flaps under load.
func (f *flapper) round(round int) error {
	b := f.b
	sender, err := b.send(f.straight(1)[0], load{octets: 60, priority: probePriority, time: time.Hour, rate: flapRate})
	if err != nil {
		return err
	}
	defer func() {
		sender.stop()
		b.forget(sender)
	}()
	series := flapSeries
	if b.opt.smoke {
		series = 1
	}
	var took []float64
	for range series {
		t, err := f.once()
		if err != nil {
			return err
		}
		took = append(took, float64(t)/1e6)
	}
	slices.Sort(took)
	b.record("flap", fmt.Sprintf("far_end_down_ms=%d", flapDown.Milliseconds()), f.of, round, value{outage, median(took)}, value{outageMost, took[len(took)-1]},
		value{count, float64(series)})
	return nil
}

// flapDown is how long the link is away.
const flapDown = 300 * time.Millisecond

// once returns the ns from the command that sets the link up to the first frame.
func (f *flapper) once() (int64, error) {
	if err := f.flows(true); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(f.tell, "link set eth0 down\n"); err != nil {
		return 0, err
	}
	if err := f.b.sleep(flapDown); err != nil {
		return 0, err
	}
	if err := f.flows(false); err != nil {
		return 0, err
	}
	start := clock()
	if _, err := io.WriteString(f.tell, "link set eth0 up\n"); err != nil {
		return 0, err
	}
	err := f.flows(true)
	return clock() - start, err
}

// flows waits until frames come at host 2, or tells that some do where none should.
func (f *flapper) flows(wanted bool) error {
	before, err := f.hosts[1].received("eth0")
	if err != nil {
		return err
	}
	if !wanted {
		if err := f.b.sleep(20 * time.Millisecond); err != nil {
			return err
		}
		after, err := f.hosts[1].received("eth0")
		if err == nil && after != before {
			err = errors.New("frames come through a link that is down")
		}
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		after, err := f.hosts[1].received("eth0")
		if err != nil || after.frames > before.frames {
			return err
		}
		if err := f.b.ctx.Err(); err != nil {
			return err
		}
		time.Sleep(20 * time.Microsecond)
	}
	return fmt.Errorf("no frame came within %v", patience)
}
