package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"

	"pfcswitch/cmd/internal/config"
)

// A Guest is a switch that Host runs.
type Guest struct {
	Config *config.Config
	File   string // of the configuration, which SIGHUP puts in force again; empty: none
	Netns  string // where the switch is at home; see NewIn
	Log    *slog.Logger

	hangups chan os.Signal // nil without a file
}

// startsAtOnce is how many switches start at the same time: a start mostly waits for locks of the kernel.
const startsAtOnce = 4

// Host runs switches in this process until ctx ends, and returns their errors. A switch that cannot start, or ends,
// does not end the others: failed is called with its error.
func Host(ctx context.Context, guests []Guest, failed func(g *Guest, err error)) error {
	for i := range guests {
		if g := &guests[i]; g.File != "" {
			g.hangups = notifyHangups() // before the start, whose configuration may be an old one already
			defer signal.Stop(g.hangups)
		}
	}
	refused := SetNice(leastNice(guests))
	errs := make([]error, len(guests))
	report := func(i int, err error) {
		if errs[i] = err; err != nil {
			failed(&guests[i], err)
		}
	}
	switches := startAll(ctx, guests, report)
	var running []*Daemon
	for _, d := range switches {
		if d == nil {
			continue
		}
		running = append(running, d)
		if refused != nil {
			d.ReportRefused("other programs of this machine may keep the switch waiting", refused)
		}
	}
	if len(running) > 0 {
		confine(running)
	}
	var serving, settling sync.WaitGroup
	settling.Add(len(running))
	for i, d := range switches {
		if d != nil {
			switches[i] = nil // until it is ready
			serving.Go(func() {
				settled := sync.OnceFunc(settling.Done)
				defer settled()
				report(i, d.serveGuest(ctx, &guests[i], func() {
					d.background.Add(1)
					switches[i] = d
					settled()
				}))
			})
		}
	}
	settling.Wait()
	saveMemory()
	if ready := slices.DeleteFunc(switches, func(d *Daemon) bool { return d == nil }); len(ready) > 0 {
		serving.Go(func() {
			attachRest(ctx, ready)
			saveMemory()
		})
		runNotify(ctx, ready)
	}
	serving.Wait()
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

// startAll starts the switches until ctx ends, and reports those that cannot start, for which it returns nil.
func startAll(ctx context.Context, guests []Guest, report func(i int, err error)) []*Daemon {
	switches := make([]*Daemon, len(guests))
	inTurns(len(guests), startsAtOnce, func(i int) {
		if ctx.Err() != nil {
			return
		}
		g := &guests[i]
		d, err := newIn(g.Netns, g.Config, g.Log, len(guests) > 1)
		switches[i] = d
		report(i, err)
	})
	return switches
}

func (d *Daemon) serveGuest(ctx context.Context, g *Guest, ready func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends what followHangups has begun
	if g.File != "" {
		d.followHangups(ctx, g.hangups, g.File)
	}
	return errors.Join(d.serve(ctx, ready), d.Close())
}
