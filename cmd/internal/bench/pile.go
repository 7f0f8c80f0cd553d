package bench

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// A pile is frames that come while the switch is stopped, half as many as port 3's ring has slots, so that it takes all. Then it carries
// them without a break. While frames come one by one a worker waits for them, spinning, gathering or asleep, and its CPU time a frame is
// one by the sender's rate, or that of a sleep.
const pileFrames = 8192

// piles returns what a frame takes of the switch's CPU time in two cases, µs. Their piles are carried in turn, so that a pace of the
// machine that changes is both's.
func (b *bench) piles(pair [2]fdbCase) (perFrame [2]float64, err error) {
	var frames [2][][]byte
	for i, c := range pair {
		frames[i] = c.frames()
	}
	var spent [2]time.Duration
	var carried [2]uint64
	for end := time.Now().Add(2 * b.opt.seconds); time.Now().Before(end) || carried[1] == 0; {
		for i, c := range pair {
			if err := b.ctx.Err(); err != nil {
				return perFrame, err
			}
			t, n, err := c.of.pile(frames[i])
			if err != nil {
				return perFrame, err
			}
			spent[i] += t
			carried[i] += n
		}
	}
	for i := range pair {
		perFrame[i] = spent[i].Seconds() * 1e6 / float64(carried[i])
	}
	return perFrame, nil
}

// pile lets the switch carry one of the frames, and returns its CPU time and how many arrived.
func (f *fdbNetwork) pile(frames [][]byte) (spent time.Duration, carried uint64, err error) {
	before, err := f.hosts[1].received("eth0")
	if err != nil {
		return 0, 0, err
	}
	if err := f.signal(syscall.SIGSTOP); err != nil {
		return 0, 0, err
	}
	err = f.fill(frames)
	start, err2 := f.effort()
	if err := errors.Join(err, err2, f.signal(syscall.SIGCONT)); err != nil {
		return 0, 0, err
	}
	err = f.b.eventually(fmt.Sprintf("all %d frames of a pile arrive", pileFrames), patience, func() (bool, error) {
		now, err := f.hosts[1].received("eth0")
		carried = now.frames - before.frames
		return carried >= pileFrames, errors.Join(err, fmt.Errorf("%d did", carried))
	})
	if err != nil {
		return 0, 0, err
	}
	end, err := f.effort()
	return end.process - start.process, carried, err
}

// fill writes a pile to port 3, where the last one ended.
func (f *fdbNetwork) fill(frames [][]byte) error {
	for range pileFrames {
		if err := f.tap.write(frames[f.next%len(frames)]); err != nil {
			return err
		}
		f.next++
	}
	return nil
}

// signal stops the switch or lets it go on.
func (f *fdbNetwork) signal(s syscall.Signal) error {
	for _, d := range f.daemons {
		if err := d.cmd.Process.Signal(s); err != nil {
			return fmt.Errorf("%v to %s: %w", s, d.name, err)
		}
	}
	return nil
}
