package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/privilege"
)

// A Guest is a switch that Host runs.
type Guest struct {
	Config *config.Config
	File   string // of the configuration, which SIGHUP puts in force again; empty: none
	Netns  string // where the switch is at home; see NewIn
	Log    *slog.Logger

	hangups chan os.Signal // nil without a file
}

// A host is what Host knows.
type host struct {
	guests []Guest
	report func(i int, err error)
	needs  privilege.Needs // what the process may still do, once confined is closed

	confined chan struct{} // closed when all have started, and the process has given up rights
	serving  sync.WaitGroup
	settling sync.WaitGroup
	left     atomic.Int32 // switches that run, or start again, and startAll
	end      func()       // ends the process when none is left
	running  struct {
		sync.Mutex // also held while they are asked whether they hang: none ends meanwhile
		all        []*Daemon
	}
}

// Host runs switches in this process until ctx ends, and returns their errors. A switch that cannot start, or ends,
// does not end the others: failed is called with its error.
func Host(ctx context.Context, guests []Guest, failed func(g *Guest, err error)) error {
	for i := range guests {
		if g := &guests[i]; g.File != "" {
			g.hangups = notifyHangups() // before the start, whose configuration may be an old one already
			defer signal.Stop(g.hangups)
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	runtime.GOMAXPROCS(1) // package runner raises it with workers and use
	refused := SetNice(leastNice(guests))
	errs := make([]error, len(guests))
	h := &host{guests: guests, confined: make(chan struct{}), end: end, report: func(i int, err error) {
		if errs[i] = err; err != nil {
			failed(&guests[i], err)
		}
	}}
	h.startAll(ctx, refused)
	h.settling.Wait()
	saveMemory()
	if ready := h.ready(); len(ready) > 0 {
		h.serving.Go(func() {
			attachRest(ctx, ready)
			saveMemory()
		})
		h.runNotify(ctx)
	}
	h.serving.Wait()
	return errors.Join(errs...)
}

// saveMemory gives back what starts have left, which is as much as all that runs needs. Switches that run allocate
// little: the heap may be half as large again, instead of twice as large, unless GOGC says what it may be.
func saveMemory() {
	debug.FreeOSMemory()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// leastNice returns the nice value of all threads: the one of the switch that asks for the most of the CPU.
func leastNice(guests []Guest) int {
	least := guests[0].Config.Nice
	for i := range guests {
		least = min(least, guests[i].Config.Nice)
	}
	return least
}

// startAll starts the switches until ctx ends, reports those that cannot start, and runs the others. refused is why
// they have no nice value; nil: they have it. It starts one after the other: a start mostly waits for the kernel, where
// starts side by side wait for each other, so that all together hardly take less time, and each takes several times as
// long until it forwards.
func (h *host) startAll(ctx context.Context, refused error) {
	h.left.Add(1)
	defer h.leave()
	defer close(h.confined)
	var started []*Daemon
	for i := range h.guests {
		if ctx.Err() != nil {
			break
		}
		g := &h.guests[i]
		d, err := newIn(g.Netns, g.Config, g.Log)
		if h.report(i, err); err != nil {
			continue
		}
		if refused != nil {
			d.ReportRefused("other programs of this machine may keep the switch waiting", refused)
		}
		started = append(started, d)
		h.left.Add(1)
		h.settling.Add(1)
		h.serving.Go(func() { h.run(ctx, i, d) })
	}
	if len(started) > 0 {
		h.needs = confine(started)
	}
}

// awaitHost waits until all switches of the process have started, and it has given up the rights that none of them
// needs. A change before could ask for rights that then go.
func (d *Daemon) awaitHost(ctx context.Context) error {
	if d.confinedAll == nil {
		return nil
	}
	select {
	case <-d.confinedAll:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave ends the process if no switch is left, and none is to start.
func (h *host) leave() {
	if h.left.Add(-1) == 0 {
		h.end()
	}
}

// ready returns the switches that run.
func (h *host) ready() []*Daemon {
	h.running.Lock()
	defer h.running.Unlock()
	return slices.Clone(h.running.all)
}

// run runs switch number i until ctx ends, and starts it again as often as somebody asks for that. It has settled when
// the switch is ready for the first time, or has ended.
func (h *host) run(ctx context.Context, i int, d *Daemon) {
	defer h.leave()
	settled := sync.OnceFunc(h.settling.Done)
	defer settled()
	for d != nil {
		again, err := h.serve(ctx, i, d, settled)
		if again == nil || ctx.Err() != nil {
			h.report(i, err)
			return
		}
		g := &h.guests[i]
		if err != nil {
			g.Log.Warn("the end before another start", "error", err)
		}
		next, failure := newIn(g.Netns, again, g.Log)
		h.report(i, failure)
		if d = next; d != nil {
			d.confined(h.needs)
			h.serving.Go(func() { attachRest(ctx, []*Daemon{d}) })
		}
	}
}

// serve runs a switch until ctx ends, or somebody asks for another start, with the configuration that serve returns.
func (h *host) serve(ctx context.Context, i int, d *Daemon, settled func()) (again *config.Config, err error) {
	g := &h.guests[i]
	serving, end := context.WithCancel(ctx)
	defer end() // also ends what followHangups has begun
	asked := make(chan *config.Config, 1)
	var first sync.Once
	d.confinedAll = h.confined
	d.restart = func() (begin func(), err error) {
		<-h.confined
		c, err := h.configAgain(g)
		if err == nil {
			err = d.startsWith(c)
		}
		if err != nil {
			return nil, err
		}
		return func() {
			first.Do(func() {
				if g.File != "" {
					g.hangups = notifyHangups() // before the end, so that no SIGHUP ends the process
				}
				asked <- c
				end()
			})
		}, nil
	}
	if g.File != "" {
		d.followHangups(serving, g.hangups, g.File)
	}
	err = d.serve(serving, func() {
		h.running.Lock()
		h.running.all = append(h.running.all, d)
		h.running.Unlock()
		settled()
		<-h.confined // it answers; what it would follow now, such as each neighbour that comes, delays other starts
	})
	<-h.confined // until then it counts among those that give up rights
	h.running.Lock()
	h.running.all = slices.DeleteFunc(h.running.all, func(other *Daemon) bool { return other == d })
	h.running.Unlock()
	err = errors.Join(err, d.Close())
	select {
	case again = <-asked:
	default:
	}
	return again, err
}

// configAgain reads the file of a switch that is to start again in a process that has given up rights.
func (h *host) configAgain(g *Guest) (*config.Config, error) {
	if g.File == "" {
		return g.Config, nil
	}
	c, warnings, err := config.Load(g.File)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		g.Log.Warn(w.String())
	}
	c = c.KeepMetrics(g.Config)
	if c.API.Socket != g.Config.API.Socket {
		return nil, fmt.Errorf("%s: the control socket is another one, %s: end the process, and start it again", g.File,
			c.API.Socket)
	}
	if !h.needs.Namespaces && slices.ContainsFunc(c.In(g.Netns).Ports, inNamespace) {
		return nil, fmt.Errorf("%s: a port is in another network namespace, and the process gave up the right to "+
			"enter it: end the process, and start it again", g.File)
	}
	return c, nil
}
