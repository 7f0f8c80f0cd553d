// Package daemon assembles a running switch: configuration, data plane, ports on Linux interfaces, API and metrics.
//
//	daemon.go  Daemon: start, apply, stop
//	build.go   configuration → what the data plane wants to know
//	ports.go   interfaces that come and go, as ports
//	check.go   interfaces that must not become ports
//	source.go  what the API and the metrics read
//	serve.go   the unix socket and the metrics address
package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
)

// A Daemon is a running switch.
type Daemon struct {
	log      *slog.Logger
	runner   *dataplane.Runner
	identity bridge.Identity
	started  time.Time

	mu      sync.Mutex // guards what follows; held for a whole change
	cfg     *config.Config
	numbers map[string]int       // port numbers by name
	ports   map[string]*portLink // by name
	watched map[string]*watch    // by namespace
	events  chan struct{}        // something changed at an interface
}

// applyPatience is how long an apply waits for buffer to drain so that a change fits.
const applyPatience = 5 * time.Second

// New starts a switch with configuration c. Its ports follow their interfaces from Run on.
func New(c *config.Config, log *slog.Logger) (*Daemon, error) {
	d := &Daemon{log: log, started: time.Now(), numbers: map[string]int{}, ports: map[string]*portLink{},
		watched: map[string]*watch{}, events: make(chan struct{}, 1)}
	if _, err := rand.Read(d.identity[:]); err != nil {
		return nil, err
	}
	resolved, err := d.resolve(c)
	if err != nil {
		return nil, err
	}
	if d.runner, err = dataplane.NewRunner(switchConfig(resolved, d.identity), c.Workers == config.WorkersPerPort); err != nil {
		return nil, err
	}
	d.mu.Lock()
	err = d.putInForce(context.Background(), resolved)
	d.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// resolve fills in what follows from the links' speeds, and refuses interfaces that must not become ports.
func (d *Daemon) resolve(c *config.Config) (*config.Config, error) {
	speeds, err := examine(c, d.ports)
	if err != nil {
		return nil, err
	}
	return c.Resolve(speeds)
}

// Apply puts a new configuration in force while the switch runs, all of it or, on error, nothing.
func (d *Daemon) Apply(ctx context.Context, c *config.Config) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.changeable(c); err != nil {
		return err
	}
	resolved, err := d.resolve(c)
	if err != nil {
		return err
	}
	if err := d.putInForce(ctx, resolved); err != nil {
		return err
	}
	d.runner.Note(dataplane.Event{Kind: dataplane.EventConfig, Priority: -1, Text: "a new configuration is in force"})
	d.poke()
	return nil
}

// changeable refuses what only a restart can change, before anything is touched.
func (d *Daemon) changeable(c *config.Config) error {
	for _, k := range []struct {
		key      string
		old, new any
	}{
		{"name", d.cfg.Name, c.Name},
		{"workers", d.cfg.Workers, c.Workers},
		{"buffer.cell", d.cfg.Buffer.Cell, c.Buffer.Cell},
		{"metrics.listen", d.cfg.Metrics.Listen, c.Metrics.Listen},
		{"api.socket", d.cfg.API.Socket, c.API.Socket},
	} {
		if k.old != k.new {
			return c.Errorf(k.key, "%v: cannot change while the switch runs (it is %v): restart it, or keep the value", k.new, k.old)
		}
	}
	return nil
}

// putInForce hands the configuration to the data plane. A change that fits but not yet, because the buffer is too full
// at this moment, is tried again for a while.
func (d *Daemon) putInForce(ctx context.Context, c *config.Config) error {
	numbers := d.number(c)
	ports := map[int]dataplane.PortConfig{}
	for i := range c.Ports {
		pc, err := portConfig(c, &c.Ports[i])
		if err != nil {
			return err
		}
		ports[numbers[pc.Name]] = pc
	}
	ctx, cancel := context.WithTimeout(ctx, applyPatience)
	defer cancel()
	for {
		err := d.runner.Configure(switchConfig(c, d.identity), ports, statics(c, numbers))
		if err == nil {
			break
		}
		if !errors.Is(err, buffer.ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (gave up after %v)", err, applyPatience)
		case <-time.After(10 * time.Millisecond):
		}
	}
	d.cfg, d.numbers = c, numbers
	return d.followConfig()
}

// number gives each port a number. A port that was there keeps its own.
func (d *Daemon) number(c *config.Config) map[string]int {
	numbers, taken := map[string]int{}, map[int]bool{}
	for i := range c.Ports {
		if n, ok := d.numbers[c.Ports[i].Name]; ok {
			numbers[c.Ports[i].Name], taken[n] = n, true
		}
	}
	next := 0
	for i := range c.Ports {
		if _, ok := numbers[c.Ports[i].Name]; ok {
			continue
		}
		for taken[next] {
			next++
		}
		numbers[c.Ports[i].Name], taken[next] = next, true
	}
	return numbers
}

// Close stops the switch and gives the interfaces back as they were.
func (d *Daemon) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ns := range d.watched {
		d.unwatch(ns)
	}
	var errs []error
	for _, p := range d.ports {
		errs = append(errs, d.lose(p))
	}
	return errors.Join(append(errs, d.runner.Close())...)
}
