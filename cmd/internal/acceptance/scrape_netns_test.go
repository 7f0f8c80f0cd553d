package acceptance

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// A scrape of 32 ports, each with eight lossless priorities, takes less than 20 ms of a CPU. That is of the program as
// it is built for users, without the race detector, asked as Prometheus asks; what the switch, which is idle, does
// beside it is in the figure. Time on a CPU is little affected by what else the machine does; of several windows the
// one in the middle counts.
func TestScrapeCost(t *testing.T) {
	const ports, scrapes, windows, most = 32, 20, 5, 20 * time.Millisecond
	r := NewRig(t, 0)
	var yaml strings.Builder
	const address = "127.0.0.1:9808" // in the switch's namespace
	fmt.Fprintf(&yaml, "name: wide\nmetrics: {listen: %q}\napi: {socket: %s/api.sock}\npriorities: {lossless: [0, 1, "+
		"2, 3, 4, 5, 6, 7]}\nbuffer: {private: 512B, headroom: 4KiB}\nports:\n", address, r.Dir)
	for n := 1; n <= ports; n += 2 {
		must(t, r.Lab.Link(r.Node, PortName(n), r.Node, PortName(n+1), lab.LinkOptions{}))
		for _, name := range []string{PortName(n), PortName(n + 1)} {
			fmt.Fprintf(&yaml, "  %s: {speed: 100M, flood: off, loop: off, ring: {outage: 1ms, other: 64}}\n", name)
		}
	}
	path := filepath.Join(r.Dir, "wide.yaml")
	must(t, os.WriteFile(path, []byte(yaml.String()), 0o600))
	p, err := r.Node.Start(lab.Command{Name: "switch", Argv: []string{labtest.Program(t), "run", "-c", path}})
	must(t, err)
	eventually(t, "all ports are up", func() bool {
		a, err := api.NewClient(filepath.Join(r.Dir, "api.sock")).Show(t.Context(), "health")
		return err == nil && a.(*api.Health).PortsUp == ports
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, address string) (c net.Conn, err error) {
			err = r.Node.Do(func() error { c, err = net.Dial(network, address); return err })
			return c, err
		}}}
	scrape := func() []byte {
		q := assert.Got(http.NewRequest(http.MethodGet, "http://"+address+"/metrics", nil)).Must(t)
		q.Header.Set("Accept", asPrometheus)
		q.Header.Set("Accept-Encoding", "gzip")
		a := assert.Got(client.Do(q)).Must(t)
		defer func() { _ = a.Body.Close() }()
		return assert.Got(io.ReadAll(a.Body)).Must(t)
	}
	series, native := countSeries(t, scrape())
	took := make([]time.Duration, windows)
	for i := range took {
		before, _ := p.Scheduled()
		for range scrapes {
			scrape()
		}
		after, _ := p.Scheduled()
		took[i] = (after - before) / scrapes
	}
	must(t, p.Stop(syscall.SIGTERM, Timeout))
	slices.Sort(took)
	t.Logf("a scrape of %d ports, %d series, %d of them native histograms, takes %v of a CPU, %v to %v in %d windows "+
		"of %d", ports, series, native, took[windows/2].Round(10*time.Microsecond), took[0].Round(10*time.Microsecond),
		took[windows-1].Round(10*time.Microsecond), windows, scrapes)
	assert.True(t, took[windows/2] < most && series >= ports*100 && native >= 3*ports,
		"a scrape of %d series, %d of them native histograms, takes %v, want less than %v", series, native,
		took[windows/2], most)
}

// asPrometheus is how Prometheus 3 asks where it keeps native histograms, which only the first of these formats
// carries.
const asPrometheus = "application/vnd.google.protobuf;" +
	"proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6," +
	"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5," +
	"application/openmetrics-text;version=0.0.1;q=0.4," +
	"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"

// countSeries counts the series of an answer in that format, and the native histograms among them. The numbers are
// those of io.prometheus.client: a MetricFamily has metrics (4), a Metric may have a histogram (7), which is native
// where it has a schema (5).
func countSeries(t *testing.T, b []byte) (series, native int) {
	t.Helper()
	for len(b) > 0 {
		family, n := protowire.ConsumeBytes(b)
		assert.MustBeTrue(t, n >= 0, "no delimited protobuf: %v", protowire.ParseError(n))
		b = b[n:]
		for _, metric := range fields(t, family, 4) {
			series++
			for _, h := range fields(t, metric, 7) {
				native += len(fields(t, h, 5))
			}
		}
	}
	return series, native
}

// fields returns the fields of a message with a number.
func fields(t *testing.T, message []byte, number protowire.Number) (found [][]byte) {
	t.Helper()
	for len(message) > 0 {
		num, kind, head := protowire.ConsumeTag(message)
		assert.MustBeTrue(t, head >= 0, "%v", protowire.ParseError(head))
		n := protowire.ConsumeFieldValue(num, kind, message[head:])
		assert.MustBeTrue(t, n >= 0, "%v", protowire.ParseError(n))
		value := message[head : head+n]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if num == number {
			found = append(found, value)
		}
		message = message[head+n:]
	}
	return found
}
