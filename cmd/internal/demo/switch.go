package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
)

// A switchNode is a switch or a host NIC of a phase.
type switchNode struct {
	name    string
	node    *lab.Node
	ports   []switchPort
	config  func() string // its configuration, at the speeds of now
	process *lab.Process
	socket  string

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
	headroom *api.Headroom
	trunks   *api.Trunks
	watchdog *api.Watchdog
	events   *api.Events
}

// hostNice is the nice value of the hosts' programs: their rates are judged, so the switches share the CPUs evenly.
const hostNice = "0"

// longRing lets a port receive while a machine with few CPUs keeps the switch from running.
const longRing = "ring: {outage: 300ms}"

// head is the beginning of a switch's configuration. LLDP is off so that every frame is accounted for.
func (s *switchNode) head() string {
	return fmt.Sprintf("name: %s\nnice: %s\napi: {socket: %s}\nlldp: {agent: off}\nmetrics: {listen: \"off\"}\n",
		s.name, hostNice, s.socket)
}

// portLines configure the ports. Loop probes are off so that every frame is accounted for.
func (s *switchNode) portLines(flowControl string) string {
	text := "ports:\n"
	for _, p := range s.ports {
		text += fmt.Sprintf("  %s: {speed: %s, flow_control: %q, loop: off, %s%s}\n", p.name, speedText(p.speed),
			flowControl, longRing, p.extraKeys)
	}
	return text
}

// speedText is a speed as configurations and command lines have it.
func speedText(bitsPerSecond int64) string {
	if bitsPerSecond == 0 {
		return "none"
	}
	return fmt.Sprint(bitsPerSecond)
}

// start runs the switch and waits until its ports are up, with their programs in the kernel.
func (s *switchNode) start(ctx context.Context, dir string) error {
	path := filepath.Join(dir, s.name+".yaml")
	if err := os.WriteFile(path, []byte(s.config()), 0o600); err != nil {
		return err
	}
	var err error
	s.process, err = s.node.Start(lab.Command{Name: s.name, Argv: []string{lab.Self, "run", "-c", path}})
	if err != nil {
		return err
	}
	err = poll(ctx, func() (bool, error) {
		select {
		case <-s.process.Ended():
			return false, s.ended()
		default:
			return s.ready(ctx), nil
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("switch %s did not bring its ports up: %s", s.name, s.process.Output())
	}
	return err
}

// poll waits until done is true.
func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *switchNode) ended() error {
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("switch %s ended: %w", s.name, err)
	}
	return fmt.Errorf("switch %s ended by itself: %s", s.name, s.process.Output())
}

// runWatch calls cancel where the switch ends before ctx does.
func (s *switchNode) runWatch(ctx context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
	case <-s.process.Ended():
		cancel(s.ended())
	}
}

// apply gives the running switch its configuration of now.
func (s *switchNode) apply(ctx context.Context) error {
	_, err := api.NewClient(s.socket).Apply(ctx, s.name+".yaml", []byte(s.config()), false)
	return err
}

func ask[T api.Reply](ctx context.Context, s *switchNode, noun string, answer *T) error {
	r, err := api.NewClient(s.socket).Show(ctx, noun)
	if err != nil {
		return fmt.Errorf("switch %s: %w", s.name, err)
	}
	*answer = r.(T)
	return nil
}

func (s *switchNode) ready(ctx context.Context) bool {
	var ports *api.Ports
	return ask(ctx, s, "ports", &ports) == nil && len(ports.Ports) == len(s.ports) && !ports.Starting() &&
		!slices.ContainsFunc(ports.Ports, func(p api.Port) bool { return !p.Up })
}

// observe asks the switch and the kernel for their counters.
func (s *switchNode) observe(ctx context.Context) (err error) {
	a := &s.state
	if err := errors.Join(ask(ctx, s, "queues", &a.queues), ask(ctx, s, "ports", &a.ports), ask(ctx, s, "pfc", &a.pfc),
		ask(ctx, s, "buffer", &a.buffer), ask(ctx, s, "trunk", &a.trunks), ask(ctx, s, "headroom", &a.headroom),
		ask(ctx, s, "watchdog", &a.watchdog), ask(ctx, s, "events", &a.events)); err != nil {
		return err
	}
	s.kernel = map[string]lab.Stats{}
	for _, p := range s.ports {
		if s.kernel[p.name], err = s.node.Stats(p.name); err != nil {
			return err
		}
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

func (s *switchNode) empty() bool { return Empty(s.state.buffer.Pools, s.state.pfc.Ports) }

// Empty tells whether a switch holds no frame and pauses no peer.
func Empty(pools []api.Pool, ports []api.PFCPort) bool {
	for _, p := range pools {
		for _, segment := range p.Segments.All() {
			if segment.UsedBytes != 0 {
				return false
			}
		}
	}
	for _, p := range ports {
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

// find returns the first that is as wanted; the zero value where there is none.
func find[T any](all []T, wanted func(*T) bool) (found T) {
	for i := range all {
		if wanted(&all[i]) {
			return all[i]
		}
	}
	return found
}

func (s *switchNode) port(name string) api.Port {
	return find(s.state.ports.Ports, func(p *api.Port) bool { return p.Port == name })
}

func (s *switchNode) queues(port string) api.QueuesPort {
	return find(s.state.queues.Ports, func(p *api.QueuesPort) bool { return p.Port == port })
}

func (s *switchNode) pfcPort(name string) api.PFCPort {
	return find(s.state.pfc.Ports, func(p *api.PFCPort) bool { return p.Port == name })
}

// pfc returns the PFC counters of a priority at a port; zeros where the port has no PFC.
func (s *switchNode) pfc(port string, priority int) api.PFCPriority {
	if p := s.pfcPort(port); priority < len(p.Priorities) {
		return p.Priorities[priority]
	}
	return api.PFCPriority{}
}

// peerOf is the name of the node at the far end of a port's link.
func (s *switchNode) peerOf(port string) string {
	return find(s.ports, func(p *switchPort) bool { return p.name == port }).peer.Name()
}

// pfcSent are the PFC frames that the ports sent for the lossless priority and for others.
func (s *switchNode) pfcSent() (lossless, others uint64) {
	for _, p := range s.ports {
		for q := range 8 {
			n := &others
			if q == losslessPriority {
				n = &lossless
			}
			*n += s.pfc(p.name, q).SentFrames
		}
	}
	return lossless, others
}

func (s *switchNode) result(phase string) SwitchResult {
	r := SwitchResult{Phase: phase, Name: s.name, LosslessDrops: s.state.ports.LosslessDropsSinceStart,
		Discarded: s.state.ports.LosslessDiscardedSinceStart, Headroom: []Headroom{}}
	lossless, others := s.pfcSent()
	r.PFCSent = lossless + others
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
