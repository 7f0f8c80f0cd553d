package metrics

import (
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// text returns everything that a collector exports.
func text(t *testing.T, cfg Config) string {
	t.Helper()
	h := Handler(NewCollector(cfg), none)
	_, body := get(t, h, "text/plain")
	return body
}

// lines returns the lines that match a pattern, sorted. There has to be one.
func lines(t *testing.T, text, pattern string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^pfcswitch_`+pattern+`.*$`).FindAllString(text, -1)
	assert.MustBeTrue(t, len(found) != 0, "no series match %s", pattern)
	slices.Sort(found)
	return found
}

// TestGolden compares everything with testdata/metrics.txt. After a change that is meant, run it with UPDATE_GOLDEN=1.
func TestGolden(t *testing.T) {
	const file = "testdata/metrics.txt"
	got := strings.ReplaceAll(text(t, config()), runtime.Version(), "GOVERSION")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		assert.Must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := assert.Got(os.ReadFile(file)).Must(t)
	assert.True(t, got == string(want), "%s\n got:\n%s\nwant:\n%s", file, got, want)
}

// registry returns a registry with a collector. The registry checks each series against all others.
func registry(c Config) *prometheus.Registry {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(checkedCollector{NewCollector(c)})
	return r
}

// TestLint checks every name by Prometheus' rules. Only the speed is in bits per second, as Ethernet counts it.
func TestLint(t *testing.T) {
	problems := assert.Got(testutil.GatherAndLint(registry(config()))).Must(t)
	for _, p := range problems {
		assert.True(t, p.Metric == "pfcswitch_port_speed_bits_per_second" &&
			strings.Contains(p.Text, `instead of "bits"`), "%s: %s", p.Metric, p.Text)
	}
}

// TestFamilies compares the table with what the sample and the crowded switch export: every family, with its labels.
// So no family of the crowded switch grows unseen.
func TestFamilies(t *testing.T) {
	for _, c := range []Config{config(), crowded(1, macctl.ModePFC, 1, 1)} {
		gathered := assert.Got(registry(c).Gather()).Must(t)
		want := Families()
		assert.True(t, len(want) == len(families),
			"%d names for %d families: two have the same", len(want), len(families))
		for _, f := range gathered {
			labels, ok := want[f.GetName()]
			assert.True(t, ok, "%s is exported and not in the table", f.GetName())
			delete(want, f.GetName())
			slices.Sort(labels)
			for _, m := range f.GetMetric() {
				var got []string
				for _, l := range m.GetLabel() {
					got = append(got, l.GetName())
				}
				assert.True(t, slices.Equal(got, labels), "%s: labels %v, want %v", f.GetName(), got, labels)
			}
		}
		assert.True(t, len(want) == 0, "not exported: %v", slices.Collect(maps.Keys(want)))
	}
}

// TestEmptySwitch exports a switch without ports and without a daemon's data.
func TestEmptySwitch(t *testing.T) {
	got := text(t, Config{Snapshot: func(*dataplane.Snapshot) {}})
	assert.Same(t, lines(t, got, "up"), []string{"pfcswitch_up 1"}, "up")
	for _, absent := range []string{"port=", "kernel_backlog", "headroom_calculated"} {
		assert.True(t, !strings.Contains(got, absent), "%s is exported", absent)
	}
}

// TestUserViewDoesNotMatter moves the watermarks that users clear and windows close: nothing here may follow.
func TestUserViewDoesNotMatter(t *testing.T) {
	cleared := config()
	cleared.Snapshot = func(v *dataplane.Snapshot) {
		sample(v)
		v.Buffer.Lossless.Used.Shared.User = 0
		v.Buffer.Lossless.Used.Shared.Window = 0
		v.Buffer.Ports[0].Ingress[3].Used.Headroom.User = 0
	}
	assert.Equal(t, text(t, cleared), text(t, config()), "a user's clear changed the metrics")
}

func TestBadPortNameFailsTheScrape(t *testing.T) {
	c := config()
	c.Ports = func() []Port { return []Port{{Name: "p\xff"}} }
	_, err := registry(c).Gather()
	assert.Fails(t, err, "UTF-8", "error")
}

// outcomes are all outcomes of a measurement frame.
var outcomes = []string{"asked", "answered", "lost", "replied", "results", "streams", "not-agreed", "unasked",
	"altered", "backwards", "proportion", "clock", "old", "busy", "stranger"}

// TestLabelValues keeps labels to their fixed sets.
func TestLabelValues(t *testing.T) {
	sets := map[string][]string{
		"port":     {"p1", "p2", "p3", "p4", "p8", "p9"},
		"priority": {"0", "1", "2", "3", "4", "5", "6", "7", "all", "unknown", "total"},
		"trunk":    {"up", "side"}, "member": {"p1", "p2", "p9", "all"}, "to": {"uplink", "members"},
		"colour":  {"green", "yellow", "red"},
		"pool":    {"lossless", "lossy"},
		"segment": {"private", "shared", "headroom"},
		"outcome": outcomes, "load": {"idle", "busy", "any"}, "percentile": {"0", "50", "99", "99.9", "100"},
		"reason": {"truncated", "destination", "opcode", "disabled", "priority", "vector", "watchdog", "surplus"},
		"value":  {"eta", "delay", "plain", "measured", "peer", "received", "told", "peer_has", "target", "holds"},
		"behind": {"after", "before", "early", "pool"}, "verdict": {"returns", "used", "late", "forged"},
		"part": {"wire", "reaction", "largest-frame-before-the-pause-frame", "largest-frame-that-the-peer-finishes",
			"measurement-frame", "k", "burst", "pause-frame", "response-limit", "waiting",
			"propagation-of-the-pause-frame", "processing", "response", "propagation-of-the-last-frame",
			"largest-frame-before-the-pfc-frame", "pfc-frame", "cable-there-and-back", "higher-layer-delay", "eta",
			"delay", "send-call"},
		"formula": {"eta", "delay", "calculated"}, "term": {"trip", "precision", "reaction"},
		"of":     {"trip", "idle", "busy", "reaction", "reaction-idle", "reaction-busy"},
		"switch": {"leaf1"}, "version": {"v1.2.3"}, "revision": {"0123abc"}, "goversion": {runtime.Version()},
	}
	for r := range dataplane.NumDropReasons {
		sets["reason"] = append(sets["reason"], r.String())
	}
	labels := regexp.MustCompile(`(\w+)="([^"]*)"`)
	for _, line := range lines(t, text(t, config()), `\w+\{`) {
		for _, l := range labels.FindAllStringSubmatch(line, -1) {
			assert.True(t, l[1] == "le" || slices.Contains(sets[l[1]], l[2]), "%s: %s is not one of %v", line, l[0],
				sets[l[1]])
		}
	}
}

// A checkedCollector is a Collector for a registry, which checks each series against all others.
type checkedCollector struct{ *Collector }

// Describe implements prometheus.Collector.
func (c checkedCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range families {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c checkedCollector) Collect(ch chan<- prometheus.Metric) {
	o := c.collect()
	if o.err != nil {
		ch <- prometheus.NewInvalidMetric(up.desc, o.err)
	}
	for _, f := range families {
		for i := range o.series[f.index] {
			ch <- constMetric{f.desc, o.metric(f, &o.series[f.index][i])}
		}
	}
}

// A constMetric is a metric as a registry takes it.
type constMetric struct {
	desc *prometheus.Desc
	m    *dto.Metric
}

// Desc implements prometheus.Metric.
func (f constMetric) Desc() *prometheus.Desc { return f.desc }

// Write implements prometheus.Metric.
func (f constMetric) Write(out *dto.Metric) error {
	out.Label, out.Counter, out.Gauge, out.Histogram = f.m.Label, f.m.Counter, f.m.Gauge, f.m.Histogram
	return nil
}
