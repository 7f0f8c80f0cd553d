package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/web"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/lldp/dcbx"
	"pfcswitch/metrics"
)

// Serve runs the switch until ctx ends: ports, control socket, metrics, page.
func (d *Daemon) Serve(ctx context.Context) error { return d.serve(ctx, func() {}) }

// serve is Serve, and calls ready when nothing can keep the switch from running any more.
func (d *Daemon) serve(ctx context.Context, ready func()) error {
	d.log.Info("control socket", "path", d.controlListener.Addr().String())
	answers := api.NewServer(d.Source(), d.started, d.startedAt)
	control := web.NewLocalServer(answers, d.log)
	go d.runServer(control, d.controlListener, "")
	defer func() { _ = control.Close() }()
	sample := make(chan struct{}, 1)
	alarm, err := runner.NewAlarm(func() { wake(sample) })
	if err != nil {
		return err
	}
	defer func() { _ = alarm.Close() }()
	var sampling sync.WaitGroup
	defer sampling.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also where the metrics cannot be served
	sampling.Go(func() {
		answers.Run(ctx, func(at int64) <-chan struct{} {
			alarm.Set(at)
			return sample
		})
	})
	begin, end, err := d.prepareWeb(answers)
	if err != nil {
		return err
	}
	defer end()
	ready()
	begin() // every user of the machine reaches the page, so the process has given up its rights before
	d.Run(ctx)
	return nil
}

// prepareWeb does all that can fail before begin serves the read-only pages on the metrics address, until end.
func (d *Daemon) prepareWeb(answers *api.Server) (begin, end func(), err error) {
	if d.metricsListener == nil {
		return func() {}, func() {}, nil
	}
	cfg := &d.published.Load().cfg.Metrics
	security, err := web.ReadSecurity(cfg.WebConfig)
	if err != nil {
		return nil, nil, err
	}
	board := web.NewPoller([]web.Switch{{Label: d.Source().Name(),
		Read:    func(context.Context) (*api.State, error) { return answers.State(), nil },
		History: func(context.Context) (*api.History, error) { return answers.History(), nil }}})
	handler := web.Handler(web.Config{Poller: board, State: answers.State, Metrics: d.metricsHandler(answers),
		Listen: cfg.Listen, Hosts: cfg.Hosts})
	s := web.NewServer(handler, d.log)
	begin = func() {
		d.log.Info("metrics and page", "url", fmt.Sprintf("%s://%s/", security.Scheme(), d.metricsListener.Addr()),
			"security", cfg.WebConfig)
		go d.runServer(s, d.metricsListener, cfg.WebConfig)
	}
	end = func() {
		_ = s.Close()
		board.Close()
	}
	return begin, end, nil
}

// openListeners opens the control socket and, if configured, the metrics address. Clients wait until Serve starts.
func (d *Daemon) openListeners(c *config.Config) error {
	var err error
	if d.controlListener, err = api.Listen(c.API.Socket, c.API.Auto); err != nil {
		return err
	}
	if c.Metrics.Listen == "" {
		return port.InNetns(d.netns, func() error { return nil }) // a wrong name is said now, not by each port
	}
	warnings, err := CheckFiles(c)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		d.log.Warn(w.String())
	}
	var taken error
	err = port.InNetns(d.netns, func() error {
		d.metricsListener, taken = net.Listen("tcp", c.Metrics.Listen)
		return nil
	})
	if taken != nil {
		return c.Errorf("metrics.listen", "%v: take another address, or write off", taken)
	}
	return err
}

// CheckFiles checks the files that a configuration names, and warns of settings that are probably not meant.
func CheckFiles(c *config.Config) (warnings []config.Warning, err error) {
	file := c.Metrics.WebConfig
	if err := web.CheckSecurity(file); err != nil {
		return nil, c.Errorf("metrics.web_config", "%v", err)
	}
	security, err := web.ReadSecurity(file)
	if err != nil {
		return nil, c.Errorf("metrics.web_config", "%v", err)
	}
	if file != "" && !security.Authenticates && c.Metrics.Reachable() {
		warnings = append(warnings, c.ExposedWarning())
	}
	return warnings, nil
}

// closeListeners closes the listeners. Serve may have closed them already, or never used them.
func (d *Daemon) closeListeners() error {
	var errs []error
	for _, l := range []net.Listener{d.controlListener, d.metricsListener} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *Daemon) metricsHandler(answers *api.Server) http.Handler {
	version, revision := api.ThisVersion(), ""
	if version.Revision != nil {
		revision = *version.Revision
	}
	return metrics.Handler(metrics.NewCollector(metrics.Config{Snapshot: d.runner.Snapshot, Ports: d.metricsPorts,
		KernelBacklog: kernelBacklogDrops,
		MissingFrames: d.runner.Tap().Missing, SlowReaders: answers.CutOff, Watchdog: d.watchdog.status,
		Switch: d.Source().Name(), Version: version.Version, Revision: revision, Started: d.started}),
		metrics.Process())
}

func kernelBacklogDrops() uint64 { return port.BacklogDrops("/proc/net/softnet_stat") }

func (d *Daemon) runServer(s *http.Server, l net.Listener, security string) {
	if err := web.Serve(s, l, security, d.log); !errors.Is(err, http.ErrServerClosed) {
		d.log.Error("server ended", "address", l.Addr().String(), "error", err)
	}
}

func (d *Daemon) metricsPorts() []metrics.Port {
	v := d.published.Load()
	all := make([]metrics.Port, 0, len(v.cfg.Ports))
	for i := range v.cfg.Ports {
		p := &v.cfg.Ports[i]
		m := metrics.Port{Name: p.Name, Calculated: p.CalculatedHeadroom()}
		if s := v.speakers[p.Name]; s != nil {
			s.read(func(x *dcbx.Exchange) {
				m.LLDP = &metrics.LLDP{Neighbors: len(x.Agent().Neighbours()), Mismatch: x.Outcome().Mismatch}
			})
		}
		if known := v.probers[p.Name]; known != nil {
			r := d.probeReport(known)
			m.Headroom = &r
		}
		all = append(all, m)
	}
	return all
}
