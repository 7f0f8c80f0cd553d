package bench

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/api"
)

// pauseSpeed is that of the port at which pauses are asked for, bit/s. The port always has frames to send: a sender
// that obeys PFC offers twice as many as fit. Then a frame leaves every 123 µs.
const pauseSpeed = 100_000_000

// pauseQuanta are the pause times that are tried; a quantum is 512 bit times (IEEE 802.3 31B.2).
var pauseQuanta = []uint16{100, 200, 1000, 5000, 20000, 65535}

// pauseTime is how long a pause of q quanta lasts, ns.
func pauseTime(q uint16) int64 { return int64(q) * 512 * int64(time.Second) / pauseSpeed }

// pauseYAML is a switch whose port 2 is slower than port 1.
const pauseYAML = `preset: roce
metrics: {listen: off}
lldp: {interval: 3600s}
ports:
  p1: {speed: 1G, tagged: [10], loop: off}
  p2: {speed: 100M, tagged: [10], loop: off}
`

// pause asks pfcswitch by PFC to stop, and looks when frames really stop and come again. The peer that asks is a TAP,
// so that the clock, the reader and the PFC frame are not the switch's own.
func (b *bench) pause() error {
	n, err := b.newNetwork("pause", dutPFC, 1)
	if err != nil {
		return err
	}
	t, err := n.newTap(n.sw, "p2")
	if err != nil {
		return err
	}
	if err := n.startPFC(pauseYAML + staticEntries(2)); err != nil {
		return err
	}
	sender, err := b.startSender(n.hosts[0], sink, "3:octets=1514,rate=200M", time.Hour, "--no-sink", "--speed", "1G")
	if err != nil {
		return err
	}
	defer sender.stop()
	if err := n.awaitXOFF(t); err != nil {
		return err
	}
	quanta := pauseQuanta
	if b.opt.smoke {
		quanta = []uint16{200, 5000}
	}
	tooEarly := 0
	for round := range b.opt.rounds {
		for _, q := range quanta {
			n, err := b.pauseRound(t, round, q)
			if tooEarly += n; err != nil {
				return err
			}
		}
	}
	if tooEarly > 0 { // no matter of speed
		err = fmt.Errorf("frames came during %d pauses, before the time that was asked for was over", tooEarly)
	}
	return errors.Join(err, n.alive())
}

// awaitXOFF waits until the sender is paused, so that the port has frames to send all the time.
func (n *network) awaitXOFF(t tap) error {
	what := "the sender is paused, so that the port has frames to send all the time"
	return n.b.eventually(what, patience, func() (bool, error) {
		r, err := show[*api.PFC](n, "pfc")
		if err := errors.Join(err, t.drain()); err != nil {
			return false, err
		}
		return len(r.Ports) > 0 && len(r.Ports[0].Priorities) > 3 && r.Ports[0].Priorities[3].SentXoff > 0, nil
	})
}

// pauseSeries is how many pauses of the same quanta are asked for in a round, and betweenPauses how long there is
// traffic between them.
const (
	pauseSeries   = 10
	betweenPauses = 5 * time.Millisecond
)

// pauseRound is a series with the same quanta. It returns how many of them ended too early.
func (b *bench) pauseRound(t tap, round int, q uint16) (tooEarly int, err error) {
	series := pauseSeries
	if b.opt.smoke {
		series = 2
	}
	var stop, tail []float64 // µs
	for range series {
		s, err := t.askForPause(q)
		if err := cmp.Or(b.ctx.Err(), err); err != nil {
			return 0, err
		}
		stop = append(stop, float64(s.until-s.asked)/1e3)
		tail = append(tail, float64(s.last-s.asked)/1e3)
		if s.until-s.asked < pauseTime(q) {
			tooEarly++
		}
	}
	silent, last, nominal := statsOf(stop), statsOf(tail), float64(pauseTime(q))/1e3
	b.record("pause", fmt.Sprintf("quanta=%d asked_us=%.1f", q, nominal), dutPFC, round,
		value{stopped, silent.median}, value{beyond, silent.median - nominal}, value{beyondMost, silent.most - nominal},
		value{lastAfter, last.median}, value{lastMost, last.most},
		value{early, float64(tooEarly)}, value{count, float64(series)})
	return tooEarly, nil
}

// An observedPause is what was seen of one pause: times of the benchmark's clock, when the pause was asked for, when
// the last frame before the silence came, and when the silence ended.
type observedPause struct{ asked, last, until int64 }

// askForPause asks for one pause and reads until frames come again. The pause is the longest time without a frame that
// began before the asked time was over. So a frame in the second half of the asked time ends the pause too early. A
// frame in the first half cannot be told from a switch that stops late, and counts in the time of the last frame.
func (t tap) askForPause(q uint16) (observedPause, error) {
	var frame [2048]byte
	for end := clock() + int64(betweenPauses) + 2*pauseTime(q); clock() < end; {
		if _, err := t.read(frame[:]); err != nil {
			return observedPause{}, err
		}
	}
	ask := pfcFrame(3, q)
	s := observedPause{asked: clock()}
	if err := t.write(ask); err != nil {
		return s, err
	}
	var w silence
	w.begin(s.asked, s.asked+pauseTime(q))
	empty := s.asked // when nothing was there to read
	for end := s.asked + 2*pauseTime(q) + int64(100*time.Millisecond); ; {
		looked := clock()
		n, err := t.read(frame[:])
		now := clock()
		if err != nil {
			return s, err
		}
		if n == 0 {
			empty = looked
		} else if frame[12] == 0x81 { // tagged: the sender's
			w.frame(empty, now)
		}
		if w.ended() || now > end {
			break
		}
	}
	s.last, s.until = w.last, w.to
	if s.until == 0 {
		return s, fmt.Errorf("after a pause of %d quanta no frame came", q)
	}
	return s, nil
}

// A silence is the longest time that there can have been between two frames. The reader may have looked late, so that a
// frame came at any time since there was none. For a frame read before the end the earliest of these moments counts, in
// favour of the switch: there the silence before ended and the next began.
type silence struct {
	end            int64 // of the pause that was asked for
	previous, seen int64 // earliest moment of the frame before, and when it was read
	length         int64
	last, to       int64 // the reads of the frame that the silence follows and of the one that ends it
}

func (w *silence) begin(now, end int64) { *w = silence{end: end, previous: now, seen: now} }

func (w *silence) frame(earliest, now int64) {
	came := earliest
	if now > w.end {
		came = now
	}
	if length := came - w.previous; length > w.length {
		w.length, w.last, w.to = length, w.seen, now
	}
	w.previous, w.seen = earliest, now
}

// ended tells whether a frame has come after the end.
func (w *silence) ended() bool { return w.seen > w.end }

// pfcFrame is a PFC frame that stops one priority (IEEE 802.1Q figure 36-1), from host 2.
func pfcFrame(priority uint8, quanta uint16) []byte {
	b := make([]byte, 60)
	copy(b, []byte{0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x02, 0x88, 0x08, 0x01, 0x01})
	binary.BigEndian.PutUint16(b[16:], 1<<priority)
	binary.BigEndian.PutUint16(b[18+2*int(priority):], quanta)
	return b
}
