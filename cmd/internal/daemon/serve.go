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
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/metrics"
)

// Serve runs the switch until ctx ends: ports, control socket, metrics.
func (d *Daemon) Serve(ctx context.Context) error {
	control, err := d.listenControl()
	if err != nil {
		return err
	}
	defer func() { _ = control.Close() }()
	scrape, err := d.listenMetrics()
	if err != nil {
		return err
	}
	if scrape != nil {
		defer func() { _ = scrape.Close() }()
	}
	d.Run(ctx)
	return nil
}

// listenControl opens the control socket.
func (d *Daemon) listenControl() (*http.Server, error) {
	l, err := api.Listen(d.cfg.API.Socket, d.cfg.API.Auto)
	if err != nil {
		return nil, err
	}
	d.log.Info("control socket", "path", l.Addr().String())
	s := &http.Server{Handler: api.NewServer(source{d}, d.started), ReadHeaderTimeout: 5 * time.Second}
	go d.runServer(s, l)
	return s, nil
}

// listenMetrics opens the metrics address, where there is one.
func (d *Daemon) listenMetrics() (*http.Server, error) {
	if d.cfg.Metrics.Listen == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", d.cfg.Metrics.Listen)
	if err != nil {
		return nil, d.cfg.Errorf("metrics.listen", "%v: take another address, or write off", err)
	}
	handler, err := metrics.Handler(metrics.NewCollector(metrics.Config{
		Snapshot: func(v *dataplane.Snapshot) { d.runner.Snapshot(v) }, Ports: d.metricsPorts, KernelBacklog: kernelBacklog,
		Version: api.ThisVersion().Version, Revision: revision(), Started: d.started}))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	d.log.Info("metrics", "url", fmt.Sprintf("http://%s/metrics", l.Addr()))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go d.runServer(s, l)
	return s, nil
}

// runServer serves until the server is closed.
func (d *Daemon) runServer(s *http.Server, l net.Listener) {
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		d.log.Error("server ended", "address", l.Addr().String(), "error", err)
	}
}

func (d *Daemon) metricsPorts() []metrics.Port {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]metrics.Port, 0, len(d.cfg.Ports))
	for i := range d.cfg.Ports {
		p := &d.cfg.Ports[i]
		all = append(all, metrics.Port{Name: p.Name, CalculatedHeadroom: p.CalculatedHeadroom().Bytes()})
	}
	return all
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
