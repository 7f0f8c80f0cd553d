package daemon

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"pfcswitch/cmd/internal/acceptance"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/runner"
	"pfcswitch/macctl"
)

// onMemory gives a rig without a lab three hosts on links in memory.
func onMemory(t *testing.T, base string) (r *rig, hosts [3]*Station, put func(c *change) error) {
	t.Helper()
	configure := func(c *change) (*config.Config, map[string]int, error) {
		in := load(t, []byte(base))
		if c != nil {
			c.in(in)
		}
		text, err := yaml.Marshal(in)
		must(t, err)
		cfg, _, err := config.Parse("test.yaml", text)
		if err != nil {
			return nil, nil, err
		}
		numbers := map[string]int{}
		for i := range cfg.Ports {
			numbers[cfg.Ports[i].Name] = i
		}
		return cfg, numbers, nil
	}
	cfg, _, err := configure(nil)
	must(t, err)
	runner, err := runner.New(switchConfig(cfg, bridge.Identity{1}), runner.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, runner.Close()) })
	d := &Daemon{runner: runner, watchdog: newWatchdog(slog.New(slog.DiscardHandler))}
	d.watchdog.start(runner)
	t.Cleanup(d.watchdog.close)
	put = func(c *change) error {
		cfg, numbers, err := configure(c)
		if err != nil {
			return err
		}
		ports := map[int]dataplane.PortConfig{}
		for i := range cfg.Ports {
			pc, err := portConfig(cfg, &cfg.Ports[i])
			must(t, err)
			joinWire(&pc, cfg, &cfg.Ports[i], numbers)
			ports[i] = pc
		}
		sc := switchConfig(cfg, bridge.Identity{1})
		sc.Trunks = trunkConfigs(cfg, numbers)
		return d.configure(context.Background(), sc, ports, statics(cfg, numbers))
	}
	must(t, put(nil))
	for i := range hosts {
		far, near, err := porttest.Pair(porttest.Options{Now: func() int64 { return time.Now().UnixNano() },
			Speed: 100e6, Slots: StationSlots, Classify: func(b []byte) port.Class {
				if len(b) > 15 && (b[12] == 0x81 && b[14]>>5 == 3 || b[12] == NumberedType>>8 && b[15] == 3) {
					return port.Lossless
				}
				return port.Other
			}})
		must(t, err)
		must(t, runner.Attach(i, near, [6]byte(PortMAC(i+1))))
		must(t, runner.SetUp(i, true))
		t.Cleanup(func() { must(t, far.Close()) })
		hosts[i] = NewStation(t, i+1, far, macctl.ModePFC, 100e6)
		hosts[i].Pliant.Store(true)
	}
	return &rig{&acceptance.Rig{T: t, Switch: d, Hosts: make([]*lab.Node, len(hosts))}}, hosts, put
}

// The keys of the data plane, changed under load with nothing but memory around it: the same promise, where no kernel
// takes part.
func TestEveryKeyChangesInMemory(t *testing.T) {
	const base = `
buffer: {lossless: {size: 512KiB}, lossy: {size: 64KiB}}
priorities: {lossless: [3]}
ports:
  p1: {speed: 100M, ring: {outage: 400ms}}
  p2: {speed: 100M, ring: {outage: 400ms}}
  p3: {speed: 100M, ring: {outage: 400ms}}
  p4: {speed: 100M}
  p5: {speed: 100M}
`
	for _, group := range []struct {
		name, more string
		changes    []change
	}{
		{"bridge", threeStations, bridgeChanges},
		{"trunk", `trunks: {up: {uplink: p2, members: [p1, p3]}, side: {uplink: p4, members: [p5]}}`, trunkChanges},
	} {
		t.Run(group.name, func(t *testing.T) {
			r, hosts, put := onMemory(t, base+group.more)
			stop1, stop3 := hosts[0].Send(Stream{To: 2, Prio: 3}), hosts[2].Send(Stream{To: 2, Prio: 3})
			eventually(t, "both senders are held now and then", func() bool {
				return hosts[0].Controls.Load() > 1 &&
					hosts[2].Controls.Load() > 1
			})
			made := 0
			for i := range group.changes {
				c := &group.changes[i]
				if c.effect == nil || c.beside != nil {
					continue // of the daemon
				}
				made++
				if err := put(c); err != nil {
					t.Errorf("%s: %v", c.path, err)
				}
				c.inForce(t, r)
				for _, n := range []int{1, 3} {
					before := hosts[1].Tally(n, 3).Frames
					eventually(t, c.path+": frames go on",
						func() bool { return hosts[1].Tally(n, 3).Frames > before+5 })
				}
				r.NoLosslessDrops()
			}
			must(t, put(nil))
			stop1()
			stop3()
			hosts[1].Whole(hosts[0], 3)
			hosts[1].Whole(hosts[2], 3)
			r.NoLosslessDrops()
			r.Settle()
			t.Logf("%d changes", made)
		})
	}
}
