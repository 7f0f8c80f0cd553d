package daemon

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// benchPorts is how many ports the switch of a benchmark has, with eight lossless queues each.
const benchPorts = 32

// A watchedSwitch is a switch without interfaces, with a watchdog that sees it.
type watchedSwitch struct {
	*watchdog
	sw    *dataplane.Switch
	cfg   *config.Config
	ports map[int]dataplane.PortConfig
}

func newWatchedSwitch(t testing.TB, yaml string) *watchedSwitch {
	t.Helper()
	s := &watchedSwitch{watchdog: newWatchdog(discards), cfg: parse(t, yaml), ports: map[int]dataplane.PortConfig{}}
	o := assert.Got(NewOfflineSwitch(s.cfg)).Must(t)
	t.Cleanup(func() { must(t, o.Close()) })
	s.sw, s.view.Switch = o.sw, o.sw
	for i := range s.cfg.Ports {
		s.ports[i], _ = s.sw.PortConfig(i)
	}
	s.watch(t, offlineTime)
	return s
}

func newBenchSwitch(b *testing.B) *watchedSwitch {
	b.Helper()
	var yaml, fdb strings.Builder
	yaml.WriteString("priorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}\nwatchdog: {mode: sonic, poll: 100ms, " +
		"detection: 5s, action: alert}\nports:\n")
	for i := range benchPorts {
		fmt.Fprintf(&yaml, "  p%d: {speed: 1G, loop: off}\n", i)
		fmt.Fprintf(&fdb, "  - {mac: \"02:00:00:00:00:%02x\", vlan: 1, port: p%d}\n", i, i)
	}
	return newWatchedSwitch(b, yaml.String()+"fdb:\n"+fdb.String())
}

// watch begins to watch all ports anew.
func (s *watchedSwitch) watch(t testing.TB, now int64) {
	for i := range s.cfg.Ports {
		s.dog.Remove(i, now)
		must(t, s.dog.Set(i, s.cfg.Ports[i].Name, WatchedQueues(s.ports[i]), s.cfg.Ports[i].Watchdog.Config, now))
	}
	s.dog.Events()
}

// BenchmarkWatchdogLook is one look at all 256 egress queues of a switch with 32 ports, for which the switch's lock is
// held: queues that hold a frame and are paused, and queues of a switch that is idle.
func BenchmarkWatchdogLook(b *testing.B) {
	const period = 100_000_000
	b.Run("stuck", func(b *testing.B) {
		s := newBenchSwitch(b)
		fill(s.sw, s.ports, 1)
		now := int64(1)
		for b.Loop() {
			if now == 1 || now > 1+45*period { // the detection time does not run out
				b.StopTimer()
				now = 1
				s.watch(b, now)
				b.StartTimer()
			}
			now += period
			s.dog.Poll(now)
		}
		if d := s.dog.Next(); d != now+period {
			b.Fatalf("next look at %d, want %d: the queues are not stuck", d, now+period)
		}
	})
	b.Run("idle", func(b *testing.B) {
		s := newBenchSwitch(b)
		s.watch(b, 1)
		for now := int64(1); b.Loop(); now += period {
			s.dog.Poll(now)
		}
		if d := s.dog.Next(); d != math.MaxInt64 {
			b.Fatalf("a look is due at %d at a switch that is idle", d)
		}
	})
}

// fill lets every queue hold a frame and be paused for five seconds of the switch's time.
func fill(sw *dataplane.Switch, ports map[int]dataplane.PortConfig, now int64) {
	for i := range ports {
		offerAll(sw, ports, i, now)
		for at := now; at < now+5_000_000_000; at += 30_000_000 { // a pause at 1 Gbit/s lasts 33 ms
			pauseAll(sw, i, at)
		}
	}
}

// offerAll sends a frame of each priority to port i.
func offerAll(sw *dataplane.Switch, ports map[int]dataplane.PortConfig, i int, now int64) {
	var burst []dataplane.Arrival
	in := (i + 1) % len(ports)
	for prio := range uint8(8) {
		a := dataplane.Arrival{Data: taggedFrame(prio, i, 64), At: now}
		cfg := ports[in]
		a.Prepare(&cfg.Classify, cfg.MaxFrame)
		burst = append(burst, a)
	}
	sw.Begin(0) // the worker that owns every port
	sw.Ingress(in, burst, 0, now, 0)
	sw.Store(sw.Settle(burst, nil))
}

// taggedFrame is a frame of so many octets to station number to.
func taggedFrame(prio uint8, to, octets int) []byte {
	f := make([]byte, octets)
	frame.PutAddress(f, 0x02_00_00_00_00_00+uint64(to))
	frame.PutAddress(f[6:], 0x02_00_00_00_01_00)
	binary.BigEndian.PutUint16(f[12:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(f[14:], uint16(frame.MakeTCI(prio, false, 0)))
	binary.BigEndian.PutUint16(f[16:], NumberedType)
	return f
}

// pauseAll pauses all queues of port i for as long as one frame can.
func pauseAll(sw *dataplane.Switch, i int, now int64) {
	var times [8]uint16
	for q := range times {
		times[q] = 0xffff
	}
	sw.Control(i, macctl.AppendPFC(nil, [6]byte{2}, 0xff, times), now, now)
}
