package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
)

// A switchNode is a switch of a phase.
type switchNode struct {
	name        string
	node        *lab.Node
	ports       []switchPort
	extraConfig string // lines of configuration for the whole switch
	preset      string // of its configuration; empty: preset roce
	process     *lab.Process
	socket      string
	fixedConfig string // its file, but for name and sockets; empty: preset roce on all ports

	// answers at the end
	state  states
	kernel map[string]lab.Stats
}

// A switchPort is one port of a switch, and the far end of its link.
type switchPort struct {
	name          string
	speed         int64
	extraKeys     string // more keys of its line in the file
	peer          *lab.Node
	peerInterface string // interface of the peer
}

// states are the answers of a switch that the checks read.
type states struct {
	ports    *api.Ports
	pfc      *api.PFC
	buffer   *api.Buffer
	queues   *api.Queues
	headroom *api.Headroom // of demo headroom
	trunks   *api.Trunks   // of demo trunk
	watchdog *api.Watchdog // of demo deadlock
	events   *api.Events
}

// hostNice is the nice value of the hosts' programs: their rates are judged, so the switches share the CPUs evenly.
const hostNice = "0"

// longRing lets a port receive while a machine with few CPUs keeps the switch from running.
const longRing = "ring: {outage: 300ms}"

// config writes the switch's file. Loop probes and LLDP are off so that every frame is accounted for.
func (s *switchNode) config(dir, flowControl string) (string, error) {
	var b strings.Builder
	head := s.preset
	if head == "" {
		head = "preset: roce\n"
	}
	fmt.Fprintf(&b, "name: %s\nnice: %s\nlldp: {agent: off}\nmetrics: {listen: \"off\"}\napi: {socket: %s}\n", s.name,
		hostNice, s.socket)
	if s.fixedConfig != "" {
		b.WriteString(s.fixedConfig)
	} else {
		fmt.Fprintf(&b, "%s%sports:\n", head, s.extraConfig)
		for _, p := range s.ports {
			fmt.Fprintf(&b, "  %s: {speed: %d, flow_control: %q, loop: off, %s%s}\n", p.name, p.speed, flowControl,
				longRing, p.extraKeys)
		}
	}
	path := filepath.Join(dir, s.name+".yaml")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// start runs the switch and waits until its ports are up.
func (s *switchNode) start(ctx context.Context, dir, flowControl string) error {
	s.socket = filepath.Join(dir, s.name+".sock")
	path, err := s.config(dir, flowControl)
	if err != nil {
		return err
	}
	return s.startCommand(ctx, "run", "-c", path)
}

// startCommand runs a switch by a command of this program and waits until its ports are up.
func (s *switchNode) startCommand(ctx context.Context, args ...string) (err error) {
	if s.process, err = s.node.Start(lab.Command{Name: s.name, Argv: append([]string{lab.Self}, args...)}); err != nil {
		return err
	}
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("switch %s did not bring its ports up: %s", s.name, s.process.Output())
		case <-s.process.Ended():
			return s.ended()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ended is the error of a switch that ended by itself.
func (s *switchNode) ended() error {
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("switch %s ended: %w", s.name, err)
	}
	return fmt.Errorf("switch %s ended by itself: %s", s.name, s.process.Output())
}

// runWatch calls told where the switch ends before ctx does.
func (s *switchNode) runWatch(ctx context.Context, told context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
	case <-s.process.Ended():
		told(s.ended())
	}
}

func (s *switchNode) ready(ctx context.Context) bool {
	r, err := api.NewClient(s.socket).Show(ctx, "ports")
	if err != nil {
		return false
	}
	ports, ok := r.(*api.Ports)
	if !ok || len(ports.Ports) != len(s.ports) {
		return false
	}
	for _, p := range ports.Ports {
		if !p.Up {
			return false
		}
	}
	return true
}

// observe asks the switch and the kernel for their counters.
func (s *switchNode) observe(ctx context.Context) error {
	c := api.NewClient(s.socket)
	for _, noun := range []string{"queues", "ports", "pfc", "buffer", "trunk", "headroom"} {
		r, err := c.Show(ctx, noun)
		if err != nil {
			return fmt.Errorf("switch %s: %w", s.name, err)
		}
		switch r := r.(type) {
		case *api.Ports:
			s.state.ports = r
		case *api.PFC:
			s.state.pfc = r
		case *api.Buffer:
			s.state.buffer = r
		case *api.Queues:
			s.state.queues = r
		case *api.Headroom:
			s.state.headroom = r
		case *api.Trunks:
			s.state.trunks = r
		}
	}
	s.kernel = map[string]lab.Stats{}
	for _, p := range s.ports {
		st, err := s.node.Stats(p.name)
		if err != nil {
			return err
		}
		s.kernel[p.name] = st
	}
	return nil
}

// waitDrained waits until the buffers are empty and no peer is paused.
func (s *switchNode) waitDrained(ctx context.Context) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		if err := s.observe(ctx); err != nil {
			return err
		}
		if s.empty() || time.Now().After(deadline) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// empty tells whether the switch holds no frame and pauses no peer.
func (s *switchNode) empty() bool {
	for _, p := range s.state.buffer.Pools {
		for _, seg := range []*api.Segment{p.Segments.Private, p.Segments.Shared, p.Segments.Headroom} {
			if seg != nil && seg.UsedBytes != 0 {
				return false
			}
		}
	}
	for _, p := range s.state.pfc.Ports {
		for _, q := range p.Priorities {
			if q.State != "running" && q.State != "off" && q.State != "down" {
				return false
			}
		}
	}
	return true
}

func (s *switchNode) stop() error {
	if s.process == nil {
		return nil
	}
	return s.process.Stop(syscall.SIGTERM, 5*time.Second)
}

// pfc returns the PFC counters of a priority at a port; zeros where the port has no PFC.
func (s *switchNode) pfc(port string, priority int) api.PFCPriority {
	for _, p := range s.state.pfc.Ports {
		if p.Port == port && priority < len(p.Priorities) {
			return p.Priorities[priority]
		}
	}
	return api.PFCPriority{}
}

func (s *switchNode) result(phase string) SwitchResult {
	r := SwitchResult{Phase: phase, Name: s.name, LosslessDrops: s.state.ports.LosslessDropsSinceStart,
		Headroom: []Headroom{}}
	for _, p := range s.ports {
		for q := range 8 {
			r.PFCSent += s.pfc(p.name, q).SentFrames
		}
	}
	for _, p := range s.state.buffer.Ports {
		for _, q := range p.IngressQueues {
			if h := q.Segments.Headroom; h != nil && h.SizeBytes != nil {
				r.Headroom = append(r.Headroom, Headroom{Port: p.Port, Priority: int(q.Priority),
					Configured: *h.SizeBytes, Peak: h.MaxStartBytes})
			}
		}
	}
	return r
}
