package daemon

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// BenchmarkWatchdogLook is one look at all 256 egress queues of a switch with 32 ports, each of which holds a frame and is
// paused: what the switch's lock is held for.
func BenchmarkWatchdogLook(b *testing.B) {
	const ports = 32
	var yaml, fdb strings.Builder
	yaml.WriteString("priorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}\nwatchdog: {period: 100ms, count: 15}\nports:\n")
	for i := range ports {
		fmt.Fprintf(&yaml, "  p%d: {speed: 1G, loop: off}\n", i)
		fmt.Fprintf(&fdb, "  - {mac: \"02:00:00:00:00:%02x\", vlan: 1, port: p%d}\n", i, i)
	}
	c, _, err := config.Parse("bench.yaml", []byte(yaml.String()+"fdb:\n"+fdb.String()))
	must(b, err)
	sw, err := dataplane.New(switchConfig(c, bridge.Identity{1}), 1)
	must(b, err)
	b.Cleanup(func() { must(b, sw.Close()) })
	all, numbers := map[int]dataplane.PortConfig{}, map[string]int{}
	for i := range c.Ports {
		all[i], err = portConfig(c, &c.Ports[i])
		must(b, err)
		numbers[c.Ports[i].Name] = i
	}
	must(b, sw.Reconfigure(switchConfig(c, bridge.Identity{1}), all, statics(c, numbers), 1))
	g := newWatchdog(slog.New(slog.NewTextHandler(io.Discard, nil)))
	g.sight.sw = sw
	for i := range ports {
		sw.SetUp(i, true, 1)
	}
	fill(sw, all, 1)
	for i := range ports {
		must(b, g.dog.Set(i, c.Ports[i].Name, watchedQueues(all[i]), c.Ports[i].Watchdog.Config, 1))
	}
	const period = 100_000_000
	now := int64(1)
	for b.Loop() {
		if now > 1+12*period { // the count does not run out
			b.StopTimer()
			now = 1
			for i := range ports {
				g.dog.Remove(i, now)
				must(b, g.dog.Set(i, c.Ports[i].Name, watchedQueues(all[i]), c.Ports[i].Watchdog.Config, now))
			}
			g.dog.Events()
			b.StartTimer()
		}
		now += period
		g.dog.Look(now)
	}
	if d := g.dog.Next(); d != now+period {
		b.Fatalf("next look at %d, want %d: the queues are not stuck", d, now+period)
	}
}

// fill lets every queue hold a frame and be paused for a minute of the switch's time.
func fill(sw *dataplane.Switch, ports map[int]dataplane.PortConfig, now int64) {
	for i := range ports {
		var burst []dataplane.Arrival
		in := (i + 1) % len(ports)
		for prio := range uint8(8) {
			f := make([]byte, 64)
			frame.PutAddress(f, 0x02_00_00_00_00_00+uint64(i))
			frame.PutAddress(f[6:], 0x02_00_00_00_01_00)
			binary.BigEndian.PutUint16(f[12:], frame.TypeVLAN)
			binary.BigEndian.PutUint16(f[14:], uint16(frame.MakeTCI(prio, false, 0)))
			binary.BigEndian.PutUint16(f[16:], 0x88B5)
			a := dataplane.Arrival{Data: f, At: now}
			cfg := ports[in]
			a.Prepare(&cfg.Classify, cfg.MaxFrame)
			burst = append(burst, a)
		}
		sw.Ingress(in, 0, burst, 0, now)
		sw.Store(sw.Settle(burst, nil))
		var times [8]uint16
		for q := range times {
			times[q] = 0xffff
		}
		for at := now; at < now+2_000_000_000; at += 30_000_000 { // a pause at 1 Gbit/s lasts 33 ms
			sw.Control(i, macctl.AppendPFC(nil, [6]byte{2}, 0xff, times), at, at)
		}
	}
}
