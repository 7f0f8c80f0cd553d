package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/lldp/dcbx"
	"pfcswitch/metrics"
)

// Serve runs the switch until ctx ends: ports, control socket, metrics.
func (d *Daemon) Serve(ctx context.Context) error {
	d.log.Info("control socket", "path", d.control.Addr().String())
	server := api.NewServer(source{d}, d.started)
	control := d.serve(d.control, server)
	defer func() { _ = control.Close() }()
	var sampling sync.WaitGroup
	sampling.Go(func() { server.Run(ctx) })
	defer sampling.Wait()
	if d.scrape != nil {
		handler, err := d.metricsHandler()
		if err != nil {
			return err
		}
		d.log.Info("metrics", "url", fmt.Sprintf("http://%s/metrics", d.scrape.Addr()))
		scrape := d.serve(d.scrape, handler)
		defer func() { _ = scrape.Close() }()
	}
	d.Run(ctx)
	return nil
}

// claim takes the control socket and, where there is one, the metrics address. A client that comes before Serve waits.
func (d *Daemon) claim(c *config.Config) error {
	var err error
	if d.control, err = api.Listen(c.API.Socket, c.API.Auto); err != nil {
		return err
	}
	if c.Metrics.Listen == "" {
		return nil
	}
	if d.scrape, err = net.Listen("tcp", c.Metrics.Listen); err != nil {
		return c.Errorf("metrics.listen", "%v: take another address, or write off", err)
	}
	return nil
}

// unclaim gives back what claim took and Serve, which closes it too, may never have used.
func (d *Daemon) unclaim() error {
	var errs []error
	for _, l := range []net.Listener{d.control, d.scrape} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *Daemon) serve(l net.Listener, h http.Handler) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go d.runServer(s, l)
	return s
}

func (d *Daemon) metricsHandler() (http.Handler, error) {
	handler, err := metrics.Handler(metrics.NewCollector(metrics.Config{
		Snapshot: func(v *dataplane.Snapshot) { d.runner.Snapshot(v) }, Ports: d.metricsPorts, KernelBacklog: kernelBacklog,
		Watchdog: d.watchdog.status, Version: api.ThisVersion().Version, Revision: revision(), Started: d.started}))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	return mux, nil
}

// runServer serves until the server is closed.
func (d *Daemon) runServer(s *http.Server, l net.Listener) {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		d.log.Error("server ended", "address", l.Addr().String(), "error", err)
	}
}

func (d *Daemon) metricsPorts() []metrics.Port {
	v := d.seen.Load()
	c, speakers := v.cfg, v.speakers
	all := make([]metrics.Port, 0, len(c.Ports))
	for i := range c.Ports {
		p := &c.Ports[i]
		m := metrics.Port{Name: p.Name, CalculatedHeadroom: p.CalculatedHeadroom().Bytes()}
		if s := speakers[p.Name]; s != nil {
			s.read(func(x *dcbx.Exchange, _ *dcbx.Config, _ int64) {
				m.LLDP = &metrics.LLDP{Neighbors: len(x.Agent().Neighbours()), Mismatch: x.Outcome().Mismatch}
			})
		}
		if known := v.probers[p.Name]; known != nil {
			d.measured(&m, known)
		}
		all = append(all, m)
	}
	return all
}

// measured fills in what a port's Probe knows.
func (d *Daemon) measured(m *metrics.Port, known *prober) {
	var r headroom.Report
	d.runner.View(func(*dataplane.Switch) { r = known.probe.Report(dataplane.Now()) })
	m.ManualHeadroom, m.MeasuredHeadroom = r.ManualRequired, headroom.Octets(max(r.Measured.Bits(), r.Received))
	m.HeadroomMessages = map[string]uint64{"asked": r.Counters.Asked, "answered": r.Counters.Answered, "lost": r.Counters.Lost,
		"replied": r.Counters.Replies, "results": r.Counters.Results}
	for why, n := range r.Counters.Ignored {
		m.HeadroomMessages[headroom.Ignored(why).String()] = n
	}
}

// kernelBacklog adds up column 2 of softnet_stat: frames that the kernel dropped before any socket saw them.
func kernelBacklog() (dropped uint64) {
	b, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) > 1 {
			n, err := strconv.ParseUint(string(f[1]), 16, 64)
			if err == nil {
				dropped += n
			}
		}
	}
	return dropped
}

func revision() string {
	if r := api.ThisVersion().Revision; r != nil {
		return *r
	}
	return ""
}
