package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Pauses are asked for at a port of this speed, bit/s, which always has frames to send: a sender that obeys PFC offers
// twice as many as fit. Then a frame leaves every 123 µs.
const pauseSpeed = 100_000_000

// pauseQuanta are the pause times that are tried; a quantum is 512 bit times (IEEE 802.3 31B.2).
var pauseQuanta = []uint16{100, 200, 1000, 5000, 20000, 65535}

// pauseTime is how long a pause of q quanta lasts, ns.
func pauseTime(q uint16) int64 { return int64(q) * 512 * int64(time.Second) / pauseSpeed }

// pause asks pfcswitch by PFC to stop, and looks when frames really stop and come again. The peer that asks is a TAP, so
// that the clock, the reader and the PFC frame are not the project's.
func (b *bench) pause() (err error) {
	n, err := b.newNetwork("pause", 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	t, err := b.newTap(n.sw, "p2")
	if err != nil {
		return err
	}
	defer t.close()
	text := `preset: roce
metrics: {listen: off}
lldp: {interval: 3600s}
ports:
  p1: {speed: 1G, tagged: [10], loop: off}
  p2: {speed: 100M, tagged: [10], loop: off}
`
	if err := n.startPFC(text + staticEntries(2)); err != nil {
		return err
	}
	sender, err := b.start(n.hosts[0].namespace, b.program, "send", "eth0", "--no-sink", "--to", sink, "--vlan", fmt.Sprint(vlan), "-j", "--speed", "1G",
		"--flow", "3:octets=1514,rate=200M", "--seconds", "3600")
	if err != nil {
		return err
	}
	defer func() {
		sender.stop()
		b.forget(sender)
	}()
	if err := b.eventually("the sender is held, so that the port has frames to send all the time", patience, func() (bool, error) {
		var said struct {
			Ports []struct {
				Priorities []struct {
					Xoff uint64 `json:"sent_xoff"`
				}
			}
		}
		err := errors.Join(n.show(&said, "pfc"), t.drain())
		return err == nil && len(said.Ports) > 0 && len(said.Ports[0].Priorities) > 3 && said.Ports[0].Priorities[3].Xoff > 0, err
	}); err != nil {
		return err
	}
	quanta := pauseQuanta
	if b.opt.smoke {
		quanta = []uint16{200, 5000}
	}
	for round := range b.opt.rounds {
		for _, q := range quanta {
			if err := b.pauses(t, round, q); err != nil {
				return err
			}
		}
	}
	return n.alive()
}

// pauses is a series with the same quanta.
func (b *bench) pauses(t *tap, round int, q uint16) error {
	series := 10
	if b.opt.smoke {
		series = 2
	}
	var stop, tail []float64
	tooEarly := 0
	for range series {
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		s, err := t.stopFor(q)
		if err != nil {
			return err
		}
		stop, tail = append(stop, float64(s.until-s.asked)/1e3), append(tail, float64(s.last-s.asked)/1e3)
		if s.until-s.asked < pauseTime(q) {
			tooEarly++
		}
	}
	slices.Sort(stop)
	slices.Sort(tail)
	nominal := float64(pauseTime(q)) / 1e3
	b.record("pause", fmt.Sprintf("quanta=%d asked_us=%.1f", q, nominal), ofPFC, round, value{stopped, median(stop)}, value{beyond, median(stop) - nominal},
		value{beyondMost, stop[len(stop)-1] - nominal}, value{lastAfter, median(tail)}, value{early, float64(tooEarly)}, value{count, float64(series)})
	return nil
}

// A stop is what was seen of one pause, times of the benchmark's clock.
type stop struct{ asked, last, until int64 }

// stopFor asks for one pause and reads until frames come again. The stop is the longest time without a frame that began
// before the asked time was over.
func (t *tap) stopFor(q uint16) (stop, error) {
	const calm = 5 * time.Millisecond // of traffic between pauses
	var frame [2048]byte
	for end := clock() + int64(calm) + 2*pauseTime(q); clock() < end; {
		if _, err := t.read(frame[:]); err != nil {
			return stop{}, err
		}
	}
	ask := pfcFrame(3, q)
	s := stop{asked: clock()}
	if err := t.write(ask); err != nil {
		return s, err
	}
	var w silence
	w.begin(s.asked)
	for end := s.asked + 2*pauseTime(q) + int64(100*time.Millisecond); ; {
		n, err := t.read(frame[:])
		now := clock()
		if err != nil {
			return s, err
		}
		if n > 0 && frame[12] == 0x81 { // tagged: the sender's
			w.frame(now)
		}
		if now > s.asked+pauseTime(q) && w.over(s.asked+pauseTime(q)) || now > end {
			break
		}
	}
	s.last, s.until = w.from, w.to
	if s.until == 0 {
		return s, fmt.Errorf("after a pause of %d quanta no frame came", q)
	}
	return s, nil
}

// A silence is the longest time between two frames.
type silence struct{ previous, from, to int64 }

func (w *silence) begin(now int64) { *w = silence{previous: now} }

func (w *silence) frame(now int64) {
	if now-w.previous > w.to-w.from {
		w.from, w.to = w.previous, now
	}
	w.previous = now
}

// over tells whether a frame has come after end.
func (w *silence) over(end int64) bool { return w.previous > end }

// pfcFrame is a PFC frame that stops one priority (IEEE 802.1Q figure 36-1), from host 2.
func pfcFrame(priority uint8, quanta uint16) []byte {
	b := make([]byte, 60)
	copy(b, []byte{0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x02, 0x88, 0x08, 0x01, 0x01})
	binary.BigEndian.PutUint16(b[16:], 1<<priority)
	binary.BigEndian.PutUint16(b[18+2*int(priority):], quanta)
	return b
}
