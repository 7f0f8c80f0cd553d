package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

const (
	rulesFile     = "rules/pfcswitch.yml"
	dashboardFile = "grafana/pfcswitch.json"
)

// program returns the path of a program of Debian's package prometheus, which CI installs; elsewhere the test is
// skipped where there is none.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatalf("CI installs prometheus, but: %v", err)
	case err != nil:
		t.Skipf("NOT TESTED with the real Prometheus: there is no %s (Debian: apt-get install prometheus)", name)
	}
	return path
}

// promtool accepts the rules, and each alert fires when it should and not otherwise.
func TestRules(t *testing.T) {
	promtool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", "rules/pfcswitch_test.yml"}} {
		out, err := exec.Command(promtool, args...).CombinedOutput()
		assert.True(t, err == nil, "promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// promtool finds nothing in the metrics but the unit of a port's speed, which the whole trade counts in bit/s.
func TestPromtoolReadsTheMetrics(t *testing.T) {
	text := assert.Got(os.ReadFile("testdata/metrics.txt")).Must(t)
	cmd := exec.Command(program(t, "promtool"), "check", "metrics")
	cmd.Stdin = bytes.NewReader(text)
	out, _ := cmd.CombinedOutput() // the exit status tells that it has found something
	assert.Equal(t, string(out), "pfcswitch_port_speed_bits_per_second use base unit \"bytes\" instead of \"bits\"\n",
		"promtool")
}

// Every alert has a test of its own in the rules' tests.
func TestEveryRuleIsTested(t *testing.T) {
	tests := assert.Got(os.ReadFile("rules/pfcswitch_test.yml")).Must(t)
	alerts := alertNames(t)
	assert.True(t, len(alerts) >= 10, "only the alerts %v", alerts)
	for _, name := range alerts {
		assert.True(t, bytes.Contains(tests, []byte(`alertname="`+name+`"`)), "no test makes %s fire", name)
	}
}

func alertNames(t *testing.T) (names []string) {
	t.Helper()
	b := assert.Got(os.ReadFile(rulesFile)).Must(t)
	for _, m := range regexp.MustCompile(`(?m)^ *- alert: (\w+)$`).FindAllSubmatch(b, -1) {
		names = append(names, string(m[1]))
	}
	return names
}

// A server is a real Prometheus that scrapes the sample switch.
type server struct {
	t   *testing.T
	url string
}

// startPrometheus runs Prometheus with the rules until the test ends. The sample's counters grow from scrape to scrape.
func startPrometheus(t *testing.T) *server {
	t.Helper()
	path := program(t, "prometheus")
	c := config()
	scrapes := uint64(0)
	c.Snapshot = func(v *dataplane.Snapshot) { // one scrape at a time
		sample(v)
		scrapes++
		for i := range v.Ports {
			p := &v.Ports[i]
			p.Counters.ReceivedFrames += scrapes
			for range scrapes {
				p.Reaction.Record(12_000)
				p.Pauses.Record(5_000_000)
				p.Holds.Record(6_000_000)
			}
		}
		for range scrapes {
			v.Xoff.Record(30_000)
		}
	}
	h := Handler(NewCollector(c), none)
	target := httptest.NewServer(h)
	t.Cleanup(target.Close)
	dir := t.TempDir()
	rules := assert.Got(filepath.Abs(rulesFile)).Must(t)
	conf := filepath.Join(dir, "prometheus.yml")
	yaml := fmt.Sprintf("global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}\n"+
		"rule_files: [%q]\nscrape_configs:\n"+
		"  - {job_name: pfcswitch, metrics_path: /, static_configs: [{targets: [%q]}]}\n",
		rules, strings.TrimPrefix(target.URL, "http://"))
	assert.Must(t, os.WriteFile(conf, []byte(yaml), 0o600))
	address := freeAddress(t)
	cmd := exec.Command(path, "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--enable-feature=native-histograms", "--log.level=warn")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	assert.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus: %s", said.String())
		}
	})
	return &server{t, "http://" + address}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l := assert.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// ask decodes the data of an answer of Prometheus' API, and returns its error.
func (s *server) ask(path string, data any) error {
	r, err := http.Get(s.url + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return nil
}

// series returns how many series an expression has now.
func (s *server) series(expr string) (int, error) {
	var data struct{ Result []any }
	err := s.ask("query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// await waits until an expression has series.
func (s *server) await(expr string) {
	s.t.Helper()
	n, err := 0, error(nil)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if n, err = s.series(expr); n > 0 && err == nil {
			return
		}
	}
	s.t.Fatalf("after 20 s still nothing: %s (%v)", expr, err)
}

// The real Prometheus scrapes a switch, native histograms included, evaluates every rule, and has something for every
// panel of the dashboard whose metrics are exported.
func TestPrometheus(t *testing.T) {
	s := startPrometheus(t)
	s.await(`rate(pfcswitch_receive_frames_total[5s]) > 0`)
	s.await(`histogram_quantile(0.9, rate(pfcswitch_pause_reaction_seconds[5s])) > 0`)
	s.rulesAreHealthy()
	for _, e := range expressions(t) {
		query := strings.NewReplacer("$__rate_interval", "5s", `"$switch"`, `".*"`, `"$port"`, `".*"`).Replace(e)
		assert.True(t, !strings.Contains(query, "$"), "%s: a variable that the dashboard does not have", e)
		n, err := s.series(query)
		assert.NoError(t, err, "%s", e)
		assert.True(t, n != 0 || !exported(query) || strings.Contains(query, " > 0"), "%s: no series", e)
	}
}

// exported reports whether every metric of an expression is exported.
func exported(expr string) bool {
	families := Families()
	for _, name := range regexp.MustCompile(`pfcswitch_\w+`).FindAllString(expr, -1) {
		if _, ok := families[name]; !ok {
			return false
		}
	}
	return true
}

func (s *server) rulesAreHealthy() {
	s.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	n := 0
	for deadline := time.Now().Add(20 * time.Second); n < len(alertNames(s.t)) &&
		time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		assert.Must(s.t, s.ask("rules", &data))
		n = 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				assert.MustBeTrue(s.t, r.Health != "err", "rule %s: %s", r.Name, r.LastError)
				if r.Health == "ok" {
					n++
				}
			}
		}
	}
	assert.Equal(s.t, n, len(alertNames(s.t)), "healthy rules")
}

// expressions returns the dashboard's queries.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	b := assert.Got(os.ReadFile(dashboardFile)).Must(t)
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
		Annotations struct{ List []struct{ Expr string } }
	}
	assert.Must(t, json.Unmarshal(b, &d))
	ids := map[int]bool{}
	for _, p := range d.Panels {
		assert.True(t, !ids[p.ID] && p.Title != "",
			"panel %d %q: its number is taken, or it has no title", p.ID, p.Title)
		ids[p.ID] = true
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, a.Expr)
	}
	assert.True(t, len(all) >= 30, "only %d expressions in the dashboard", len(all))
	return all
}
