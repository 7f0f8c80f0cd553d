package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// serve runs a server as the switch does.
func serve(t *testing.T, c Config) (address string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	if c.Poller == nil {
		c.Poller = samplePoller()
	}
	h := handler(t, c)
	l := assert.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	s := NewServer(h, slog.New(slog.NewTextHandler(io.Discard, nil)))
	ended := make(chan error, 1)
	go func() { ended <- Serve(s, l, "", nil) }()
	t.Cleanup(func() {
		_, _ = s.Close(), <-ended
		c.Poller.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(before, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// A watcher is a browser that reads views.
type watcher struct {
	t    *testing.T
	body *bufio.Scanner
	end  func()
}

func watchAt(t *testing.T, address string) (*watcher, *http.Response) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r := assert.Got(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/view", nil)).Must(t)
	a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	w := &watcher{t, bufio.NewScanner(a.Body), func() { cancel(); _ = a.Body.Close() }}
	w.body.Buffer(nil, 1<<20)
	t.Cleanup(w.end)
	return w, a
}

func (w *watcher) next() (v View) {
	w.t.Helper()
	for w.body.Scan() {
		if text, ok := strings.CutPrefix(w.body.Text(), "data: "); ok {
			assert.Must(w.t, json.Unmarshal([]byte(text), &v))
			return v
		}
	}
	w.t.Fatalf("no view came: %v", w.body.Err())
	return v
}

// fastPoller polls every 20 ms.
func fastPoller(switches ...Switch) *Poller {
	b := NewPoller(switches)
	b.every = 20 * time.Millisecond
	return b
}

// A switch that stops answering is shown with the time since and its last state, until it answers again.
func TestDeadSwitch(t *testing.T) {
	var dead atomic.Bool
	b := fastPoller(Switch{Label: "s1", Read: func(context.Context) (*api.State, error) {
		if dead.Load() {
			return nil, errSilent
		}
		s := sampleState()
		s.PFC[0].Priorities[0].Recent = &api.PFCRecent{IntervalNs: 10e9, ReceivedPausedShare: 0.5}
		return s, nil
	}}, Switch{Label: "s2", Read: func(context.Context) (*api.State, error) { return nil, errSilent }})
	w, _ := watchAt(t, serve(t, Config{Poller: b}))
	v := w.next()
	if s := v.Switches[0]; !s.Answers || s.State == nil || s.Error != nil || s.Label != "s1" || v.Schema != api.Schema {
		t.Fatalf("at first: %+v", v)
	}
	if s := v.Switches[1]; s.Answers || s.State != nil || s.LastAnswer != nil || *s.Error != errSilent.Error() {
		t.Fatalf("one that never answered: %+v", s)
	}
	q := w.next().Switches[0].State.PFC[0].Priorities[0]
	assert.MustBeTrue(t, q.Recent != nil && *q.Recent == (api.PFCRecent{IntervalNs: 10e9, ReceivedPausedShare: 0.5}),
		"of late: %+v", q.Recent)
	dead.Store(true)
	for v = w.next(); v.Switches[0].Answers; v = w.next() {
	}
	first := v.Switches[0]
	second := w.next().Switches[0]
	assert.True(t, first.State != nil && first.LastAnswer != nil && second.SilentNs > first.SilentNs &&
		*first.Error == errSilent.Error(), "silent: %+v then %+v", first, second)
	dead.Store(false)
	for v = w.next(); !v.Switches[0].Answers; v = w.next() {
	}
	s := v.Switches[0]
	assert.True(t, s.SilentNs == 0 && s.Error == nil, "alive again: %+v", s)
}

// A switch that hangs delays the others by pollTimeout at most.
func TestHangingSwitch(t *testing.T) {
	b := fastPoller(Switch{Label: "hangs", Read: func(ctx context.Context) (*api.State, error) {
		<-ctx.Done()
		return nil, plainError(ctx.Err())
	}}, sampleSwitch())
	w, _ := watchAt(t, serve(t, Config{Poller: b}))
	v := w.next()
	assert.True(t, !v.Switches[0].Answers && strings.Contains(*v.Switches[0].Error, "in time") && v.Switches[1].Answers,
		"%+v", v)
}

// No switch is polled while no browser watches.
func TestNobodyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		b := NewPoller([]Switch{{Label: "s1", Read: func(context.Context) (*api.State, error) {
			looks.Add(1)
			return sampleState(), nil
		}}})
		defer b.Close()
		seen := int64(0)
		for range 2 {
			time.Sleep(time.Hour)
			n := looks.Load()
			assert.MustBeTrue(t, n == seen, "%d looks while nobody watched, of %d", n-seen, n)
			assert.Must(t, b.join())
			assert.Must(t, b.join())
			time.Sleep(3*pollPeriod + pollPeriod/2)
			b.leave()
			time.Sleep(pollPeriod)
			b.leave()
			n = looks.Load()
			assert.MustBeTrue(t, n == seen+5, "%d looks while somebody watched, want one at once and 4 more", n-seen)
			seen = looks.Load()
		}
	})
}

// The number of browsers is limited.
func TestMostClients(t *testing.T) {
	b := fastPoller(sampleSwitch())
	address := serve(t, Config{Poller: b})
	var all []*watcher
	for range maxClients {
		w, a := watchAt(t, address)
		assert.MustBeTrue(t, a.StatusCode == http.StatusOK && a.Header.Get("Content-Type") == "text/event-stream",
			"watcher %d: %s", len(all), a.Status)
		all = append(all, w)
	}
	if _, a := watchAt(t, address); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %s", a.Status)
	}
	all[0].end()
	labtest.Eventually(t, "there is room again",
		func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.clients < maxClients })
	w, _ := watchAt(t, address)
	w.next()
	all[1].next()
}

// A browser that reads nothing is cut off. The others go on.
func TestSlowReader(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes readerPatience")
	}
	long := sampleState()
	long.Version = strings.Repeat("x", 200<<10)
	b := fastPoller(Switch{Label: "s1", Read: func(context.Context) (*api.State, error) { return long, nil }})
	address := serve(t, Config{Poller: b})
	slow := assert.Got(net.Dial("tcp", address)).Must(t)
	defer func() { _ = slow.Close() }()
	fmt.Fprintf(slow, "GET /v1/view HTTP/1.1\r\nHost: localhost\r\n\r\n")
	w, _ := watchAt(t, address)
	for begun := time.Now(); time.Since(begun) < viewTimeout+5*time.Second; w.next() {
		b.mu.Lock()
		left := b.clients
		b.mu.Unlock()
		if left == 1 && time.Since(begun) > time.Second {
			t.Logf("the slow one was cut off after %v", time.Since(begun).Round(100*time.Millisecond))
			return
		}
	}
	t.Error("the slow one was not cut off")
}

// Close does not wait for browsers.
func TestCloseWhileWatched(t *testing.T) {
	b := fastPoller(sampleSwitch())
	w := httptest.NewRecorder()
	assert.Must(t, b.join())
	b.Close()
	b.leave()
	b.stream(w, httptest.NewRequest(http.MethodGet, "/v1/view", nil))
	assert.Equal(t, w.Code, http.StatusServiceUnavailable, "status after Close")
}
