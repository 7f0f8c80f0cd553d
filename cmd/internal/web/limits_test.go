package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
)

// dial opens a connection that stays until the test ends.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	network := "tcp"
	if strings.Contains(address, "/") {
		network = "unix"
	}
	c, err := net.Dial(network, address)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.SetDeadline(time.Now().Add(40*time.Second)))
	return c
}

// answered reads the status of the next answer.
func answered(t *testing.T, c net.Conn) string {
	t.Helper()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// Whatever a client is slow with, it is cut off, at the metrics address and at the control socket; one that watches or waits between
// requests is not.
func TestSlowClients(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the limits' times")
	}
	address, local := serve(t, Config{}), serveLocal(t)
	var clients sync.WaitGroup // all at once: what is waited for is the limits' times
	where := map[string]string{address: "address: ", local: "socket: "}
	const post = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n"
	for _, tt := range []struct {
		at, name, sent, more string // more is sent again and again
		within               time.Duration
	}{
		{address, "nothing", "", "", headerTime},
		{address, "half a line", "GET / HT", "", headerTime},
		{address, "a header without end", "GET / HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", headerTime},
		{address, "a body that does not come", "POST /metrics" + post, "", requestTime},
		{address, "a body that trickles", "POST /v1/apply" + post, "a", requestTime},
		{local, "nothing", "", "", headerTime},
		{local, "half a line", "GET / HT", "", headerTime},
		{local, "a header without end", "GET /v1/ports HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", headerTime},
		{local, "a configuration that does not come", "POST /v1/apply" + post, "", controlTime},
		{local, "a configuration that trickles", "POST /v1/apply" + post, "a", controlTime},
		{local, "a frame that trickles", "POST /v1/explain?port=p1" + post, "a", controlTime},
		{local, "a clear that trickles", "POST /v1/clear/watermarks" + post, "a", controlTime},
	} {
		c := dial(t, tt.at)
		clients.Go(func() {
			begun := time.Now()
			cutOff(t, c, tt.sent, tt.more)
			if took := time.Since(begun); took > tt.within+3*time.Second {
				t.Errorf("%s%s: cut off after %v, want %v", where[tt.at], tt.name, took, tt.within)
			}
		})
	}
	c := dial(t, local)
	clients.Go(func() {
		_, err := io.WriteString(c, "GET /v1/fdb HTTP/1.1\r\nHost: localhost\r\n\r\n")
		time.Sleep(controlTime + time.Second)
		n, more := io.Copy(io.Discard, c)
		if err != nil || n == 0 || n > slowAnswer/2 {
			t.Errorf("%v: %d octets of an answer of more than %d could still be read: %v", err, n, slowAnswer, more)
		}
	})
	w, _ := watchAt(t, address)
	for begun := time.Now(); time.Since(begun) < requestTime+2*time.Second; {
		w.next()
	}
	clients.Wait()
}

// cutOff sends, and more again and again, until the other end has closed the connection.
func cutOff(t *testing.T, c net.Conn, sent, more string) {
	if _, err := io.WriteString(c, sent); err != nil {
		t.Error(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c)
	}()
	for {
		select {
		case <-ended:
			return
		case <-time.After(200 * time.Millisecond):
			_, _ = io.WriteString(c, more)
		}
	}
}

// A slowSource is a switch of which only the filtering database is known, which is large.
type slowSource struct{ api.Source }

func (slowSource) Name() string                   { return "s1" }
func (slowSource) Snapshot(v *dataplane.Snapshot) { *v = dataplane.Snapshot{} }
func (slowSource) ClearWatermarks()               {}
func (slowSource) Interfaces(all []capture.Interface) []capture.Interface {
	return all
}

func (slowSource) FDB() []bridge.Entry {
	all := make([]bridge.Entry, slowAnswer/100)
	for i := range all {
		all[i] = bridge.Entry{MAC: uint64(i), VID: 1, Static: true}
	}
	return all
}

const (
	slowAnswer  = 4 << 20          // octets that the answer about the filtering database has at least: more than sockets hold
	controlTime = 10 * time.Second // what the control socket gives for the rest of a request, and for taking an answer
)

// serveLocal serves a control socket and returns its path.
func serveLocal(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	must(t, err)
	s := NewLocalServer(api.NewServer(slowSource{}, time.Now()), slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { _, _ = s.Close(), <-ended })
	return path
}

// What comes to the control socket has a bound too.
func TestLocalBounds(t *testing.T) {
	path := serveLocal(t)
	for _, tt := range []struct{ name, sent, want string }{
		{"a long header", "GET /v1/ports HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", " 431 "},
		{"a long path", "GET /v1/" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", " 431 "},
		{"a long configuration", "POST /v1/apply HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n" + strings.Repeat("a", 2_000_000), " 400 "},
		{"a long frame", "POST /v1/explain?port=p1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("a", 70_000), " 400 "},
	} {
		c := dial(t, path)
		go func() { _, _ = io.WriteString(c, tt.sent) }() // it may be cut off before all is sent
		if got := answered(t, c); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want%sand its end", tt.name, got, tt.want)
		}
	}
}

// Headers and bodies have a bound.
func TestBounds(t *testing.T) {
	address := serve(t, Config{})
	c := dial(t, address)
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: %s\r\n\r\n", strings.Repeat("a", 64<<10))
	if got := answered(t, c); !strings.Contains(got, "431") {
		t.Errorf("a long header: %s, want 431", got)
	}
	c = dial(t, address)
	fmt.Fprintf(c, "GET /?%s HTTP/1.1\r\nHost: localhost\r\n\r\n", strings.Repeat("a", 64<<10))
	if got := answered(t, c); !strings.Contains(got, "431") {
		t.Errorf("a long address: %s, want 431", got)
	}
	c = dial(t, address)
	fmt.Fprintf(c, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n")
	if got := answered(t, c); !strings.Contains(got, "200") {
		t.Errorf("a long body that nobody asked for: %s, want 200 and its end", got)
	}
}

// A thousand connections that say nothing take little memory and keep nobody out, nor do as many that were used once.
func TestThousandIdle(t *testing.T) {
	const idle = 1000
	state := stateAt(1, 0, 0)
	b := fastBoard(Switch{Label: "s1", Read: func(context.Context) (*api.State, error) { return state, nil }})
	address := serve(t, Config{Board: b})
	w, _ := watchAt(t, address)
	w.next()
	before := heap()
	for n := range idle {
		c := dial(t, address)
		if n%2 == 0 {
			fmt.Fprintf(c, "GET /icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 10 {
		begun := time.Now()
		r, err := client.Get("http://" + address + "/v1/state")
		must(t, err)
		_, err = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if took := time.Since(begun); err != nil || r.StatusCode != http.StatusOK || took > time.Second {
			t.Errorf("beside %d idle connections: %s after %v, %v", idle, r.Status, took, err)
		}
	}
	w.next() // who watches was not closed for them
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("the connections take %d KiB", grown>>10)
	} else {
		t.Logf("the connections, with both ends, take %d KiB", grown>>10)
	}
}

// heap returns the memory that is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
