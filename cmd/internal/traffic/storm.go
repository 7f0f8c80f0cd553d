package traffic

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/macctl"
)

// A StormConfig says how a broken host pauses its peer.
type StormConfig struct {
	Interface, Netns string
	Speed            int64  // bit/s that quanta are counted in; 0: 10G
	FlowControl      string // pfc or pause
	Priority         uint8  // of PFC
	Duty             int    // share of the time for which the peer is to be paused, in percent, 1 to 100
	Duration         time.Duration
	Start            time.Time // zero: at once
}

// Check reports what is wrong with the configuration.
func (c *StormConfig) Check() error {
	switch {
	case mode(c.FlowControl) == macctl.ModeOff:
		return errors.New("a storm without flow control: it is pfc or pause")
	case c.Priority > 7:
		return fmt.Errorf("priority %d: priorities are 0 to 7", c.Priority)
	case c.Duty < 1 || c.Duty > 100:
		return fmt.Errorf("a duty of %d %%: 1 to 100 are possible", c.Duty)
	case c.Duration <= 0:
		return errors.New("no time: a storm has to end")
	}
	return nil
}

// stormCycle is the time between two XOFFs. Each asks for duty percent of it. At 100 percent each asks for the longest
// pause, so that a storm has no gap while the process waits for a CPU.
const stormCycle = time.Millisecond

func (c *StormConfig) quanta() uint16 {
	if c.Duty == 100 {
		return 0xffff
	}
	pause := int64(stormCycle) * int64(c.Duty) / 100
	return uint16(min(0xffff, max(1, pause*macctl.SpeedOrNominal(c.Speed)/macctl.QuantumBits/int64(time.Second))))
}

// A StormReport is the result of a storm. Shares and gaps follow from the pause times of the XOFFs that left, at Speed.
type StormReport struct {
	Schema      int     `json:"schema"`
	Interface   string  `json:"interface"`
	Source      string  `json:"source"`
	FlowControl string  `json:"flow_control"`
	Priority    uint8   `json:"priority"` // of PFC
	Duty        int     `json:"duty_percent"`
	Quanta      uint16  `json:"quanta"`
	Speed       int64   `json:"speed_bits_per_second"` // at which quanta were counted
	Elapsed     int64   `json:"elapsed_ns"`
	Frames      uint64  `json:"frames"`
	Rate        float64 `json:"frames_per_second"`
	Paused      float64 `json:"paused_share"`   // the real duty
	LongestGap  int64   `json:"longest_gap_ns"` // without a pause, also at the beginning and the end
}

// A storm adds up the pause times of XOFFs.
type storm struct {
	from, until int64 // its beginning, the end of the latest pause
	free        int64 // ns without a pause up to the latest XOFF
	longest     int64
	frames      uint64
}

// sent records an XOFF that left at time now and asks for d ns.
func (s *storm) sent(now, d int64) {
	gap := max(0, now-s.until)
	s.free += gap
	s.longest = max(s.longest, gap)
	s.until = now + d
	s.frames++
}

// paused returns the share of the time up to now for which the peer was to be paused.
func (s *storm) paused(now int64) float64 {
	if now <= s.from {
		return 0
	}
	return 1 - float64(s.free+max(0, now-s.until))/float64(now-s.from)
}

// RunStorm sends XOFF until the time is over or ctx ends, and then XON.
func RunStorm(ctx context.Context, c StormConfig) (*StormReport, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p, link, err := open(c.Netns, c.Interface, 0, senderSlots, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	runtime.LockOSThread() // as the switch's workers do
	defer runtime.UnlockOSThread()
	if !waitUntil(ctx, c.Start) {
		return nil, ctx.Err()
	}
	s, begun, err := c.send(ctx, p, link.MAC)
	if err != nil {
		return nil, err
	}
	ended := runner.Now()
	_ = p.SendControl(c.frame(link.MAC, 0))
	return c.report(s, begun, ended, link.MAC), nil
}

// send sends XOFF until the time is over or ctx ends, and returns when it began.
func (c *StormConfig) send(ctx context.Context, p port.Port, own [6]byte) (s *storm, begun int64, err error) {
	begun = runner.Now()
	s = &storm{from: begun, until: begun}
	next := begun
	for now := begun; now-begun < int64(c.Duration) && ctx.Err() == nil; now = runner.Now() {
		if now < next {
			time.Sleep(time.Duration(next - now))
			continue
		}
		switch err := p.SendControl(c.frame(own, c.quanta())); {
		case errors.Is(err, port.ErrAgain), errors.Is(err, port.ErrDropped):
			// as the data of a sender, and the gap shows
			time.Sleep(refusedDelay)
			continue
		case err != nil:
			return nil, 0, fmt.Errorf("%s: the storm ended after %d frames: %w", c.Interface, s.frames, err)
		}
		s.sent(now, macctl.QuantaDuration(c.quanta(), c.Speed))
		next += int64(stormCycle) // late ones are made up for
	}
	return s, begun, nil
}

func (c *StormConfig) frame(own [6]byte, quanta uint16) []byte {
	if mode(c.FlowControl) == macctl.ModePause {
		return macctl.AppendPause(nil, own, quanta)
	}
	var times [8]uint16
	times[c.Priority] = quanta
	return macctl.AppendPFC(nil, own, 1<<c.Priority, times)
}

func (c *StormConfig) report(s *storm, begun, ended int64, own [6]byte) *StormReport {
	return &StormReport{Schema: 1, Interface: c.Interface, Source: macString(frame.Address(own[:])),
		FlowControl: c.FlowControl, Priority: c.Priority, Duty: c.Duty, Quanta: c.quanta(),
		Speed: macctl.SpeedOrNominal(c.Speed), Elapsed: ended - begun, Frames: s.frames,
		Rate: float64(s.frames) / (float64(max(1, ended-begun)) / 1e9), Paused: s.paused(ended),
		LongestGap: max(s.longest, ended-s.until)}
}

// waitUntil waits for a moment and tells whether ctx has not ended before.
func waitUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return true
	}
}
