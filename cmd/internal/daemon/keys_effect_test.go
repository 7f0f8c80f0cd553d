package daemon

import (
	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// What effects look at.
type (
	portState   = *dataplane.PortSnapshot
	trunkState  = *dataplane.TrunkSnapshot
	switchState = *dataplane.Snapshot
)

// at is the effect of a change on port n of the data plane.
func at(n int, holds func(p portState) bool) func(r *rig) bool {
	return func(r *rig) bool {
		p := r.Snapshot(n)
		return holds(&p)
	}
}

// overall is the effect on the switch as a whole.
func overall(holds func(s switchState) bool) func(r *rig) bool {
	return func(r *rig) bool {
		var s dataplane.Snapshot
		r.d().runner.Snapshot(&s)
		return holds(&s)
	}
}

// inBuffer is the effect on the buffer of port 1.
func inBuffer(holds func(p *buffer.PortSnapshot) bool) func(r *rig) bool {
	return overall(func(s switchState) bool {
		for i := range s.Buffer.Ports {
			if p := &s.Buffer.Ports[i]; p.Name == PortName(1) && !p.Removed {
				return holds(p)
			}
		}
		return false
	})
}

// poolSizes is the effect on the sizes of the pools.
func poolSizes(holds func(lossless, lossy int64) bool) func(r *rig) bool {
	return overall(func(s switchState) bool {
		l := &s.Buffer.Lossless
		return holds(l.SharedSize+l.PrivateSize+l.HeadroomSize, s.Buffer.Lossy.SharedSize)
	})
}

// headroomPool is the effect on the size of the headroom segment, beside the sum of all headrooms.
func headroomPool(holds func(sum, pool int64) bool) func(r *rig) bool {
	return overall(func(s switchState) bool {
		var sum int64
		for _, p := range s.Buffer.Ports {
			for q := range p.Ingress {
				sum += p.Ingress[q].Config.Headroom
			}
		}
		return holds(sum, s.Buffer.Lossless.HeadroomSize)
	})
}

// aggregated is the effect on a trunk.
func aggregated(name string, holds func(t trunkState) bool) func(r *rig) bool {
	return overall(func(s switchState) bool {
		for i := range s.Trunks {
			if t := &s.Trunks[i]; t.Config.Name == name {
				return holds(t)
			}
		}
		return false
	})
}

// unknownIsDropped is whether port 1 drops a lossless frame to a station that nobody knows.
func unknownIsDropped(r *rig) bool {
	b := Tagged(Ethernet(1, 99, NumberedType, make([]byte, 50)), 0x8100, 3<<13)
	f, ok := r.d().runner.Trace(PortName(1), b, frame.VnetHeader{})
	return ok && f.Dropped && f.Reason == dataplane.DropUnknownLossless
}

// linked is the effect on the interface of port n and its sockets.
func linked(n int, holds func(p *portLink) bool) func(r *rig) bool {
	return func(r *rig) bool {
		r.d().mu.Lock()
		defer r.d().mu.Unlock()
		p := r.d().ports[PortName(n)]
		return p != nil && holds(p)
	}
}

// probing is the effect on how port 1 measures its headroom.
func probing(holds func(r *headroom.Report) bool) func(r *rig) bool {
	return func(r *rig) bool {
		for _, info := range (r.d().Source()).Headroom() {
			if info.Port == PortName(1) {
				return holds(&info.Report)
			}
		}
		return false
	}
}

// flagged is the effect on how the requests of port 1 are to be answered.
func flagged(flag uint8) func(r *rig) bool {
	return probing(func(r *headroom.Report) bool { return r.Settings.Flags&flag != 0 })
}

// spoken is the effect on what port 1 says by LLDP and DCBX.
func spoken(holds func(a *lldp.Config, c *dcbx.Config) bool) func(r *rig) bool {
	return func(r *rig) (ok bool) {
		if s := r.d().published.Load().speakers[PortName(1)]; s != nil {
			s.read(func(x *dcbx.Exchange) {
				a := x.Agent().Config()
				ok = holds(&a, &s.machine)
			})
		}
		return ok
	}
}

// watching is the effect on the deadlock watchdog of port 1.
func watching(holds func(c *deadlock.Config) bool) func(r *rig) bool {
	return func(r *rig) bool {
		for _, s := range r.d().watchdog.status() {
			if s.Name == PortName(1) && s.Queue == 3 {
				return holds(&s.Config)
			}
		}
		return false
	}
}

// keeping is the effect on what is kept for a file of a loss.
func keeping(holds func(c *config.Capture) bool) func(r *rig) bool {
	return func(r *rig) bool {
		r.d().mu.Lock()
		defer r.d().mu.Unlock()
		return r.d().flight != nil && holds(&r.d().flight.cfg)
	}
}
