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
	"testing/synctest"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
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
	c := assert.Got(net.Dial(network, address)).Must(t)
	t.Cleanup(func() { _ = c.Close() })
	assert.Must(t, c.SetDeadline(time.Now().Add(40*time.Second)))
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

// pipes is a listener whose connections are pipes, which know virtual time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// dial returns the client's end of a connection.
func (p pipes) dial() net.Conn {
	client, server := net.Pipe()
	p <- server
	return client
}

// servePipes runs the server of the metrics address as the switch does, on pipes, until the test ends.
func servePipes(t *testing.T) pipes {
	return served(t, NewServer(handler(t, Config{}), slog.New(slog.DiscardHandler)))
}

// serveLocalPipes runs the server of the control socket, of a switch with a long answer.
func serveLocalPipes(t *testing.T) pipes {
	return served(t, NewLocalServer(api.NewServer(slowSource{}, time.Now(), 0), slog.New(slog.DiscardHandler)))
}

func served(t *testing.T, s *http.Server) pipes {
	p := make(pipes)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(p) })
	t.Cleanup(func() {
		close(p)
		_ = s.Close()
		serving.Wait()
	})
	return p
}

// Slow clients are cut off in time, at the metrics address and at the control socket.
func TestSlowClients(t *testing.T) {
	const post = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n"
	for where, rows := range map[string]struct {
		serve   func(*testing.T) pipes
		clients []slowClient
	}{
		"address": {servePipes, []slowClient{
			{"nothing", "", "", headerTime},
			{"half a line", "GET / HT", "", headerTime},
			{"a header without end", "GET / HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", headerTime},
			{"a body that does not come", "POST /metrics" + post, "", requestTime},
			{"a body that trickles", "POST /v1/apply" + post, "a", requestTime},
		}},
		"socket": {serveLocalPipes, []slowClient{
			{"nothing", "", "", headerTime},
			{"half a line", "GET / HT", "", headerTime},
			{"a header without end", "GET /v1/ports HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", headerTime},
			{"a configuration that does not come", "POST /v1/apply" + post, "", controlTime},
			{"a configuration that trickles", "POST /v1/apply" + post, "a", controlTime},
			{"a frame that trickles", "POST /v1/explain?port=p1" + post, "a", controlTime},
			{"a clear that trickles", "POST /v1/clear/watermarks" + post, "a", controlTime},
		}},
	} {
		for _, c := range rows.clients {
			t.Run(where+": "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { c.cutOff(t, rows.serve(t).dial()) })
			})
		}
	}
}

// A slowClient sends sent, then more repeatedly. within is the time until it is cut off.
type slowClient struct {
	name, sent, more string
	within           time.Duration
}

func (s *slowClient) cutOff(t *testing.T, c net.Conn) {
	begun := time.Now()
	var sending sync.WaitGroup
	sending.Go(func() {
		_, err := io.WriteString(c, s.sent)
		for err == nil {
			time.Sleep(200 * time.Millisecond)
			_, err = io.WriteString(c, s.more)
		}
	})
	_, _ = io.Copy(io.Discard, c)
	took := time.Since(begun) // net/http lingers for half a second
	assert.True(t, took <= s.within+time.Second, "cut off after %v, want %v", took, s.within)
	_ = c.Close()
	sending.Wait()
}

// A client that does not read its answer is cut off too.
func TestSlowReaderOfTheSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveLocalPipes(t).dial()
		_, err := io.WriteString(c, "GET /v1/fdb HTTP/1.1\r\nHost: localhost\r\n\r\n")
		begin := make([]byte, 100)
		n, first := io.ReadFull(c, begin)
		time.Sleep(controlTime + time.Second)
		rest, _ := io.Copy(io.Discard, c)
		assert.True(t, err == nil && first == nil && int(rest)+n <= slowAnswer/2,
			"%v, %v: %d and %d octets of an answer of more than %d could still be read", err, first, n, rest,
			slowAnswer)
		_ = c.Close()
	})
}

// A client that gets little CPU takes its answer slowly, a piece at a time, and gets the whole of it.
func TestSteadyReaderOfTheSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveLocalPipes(t).dial()
		_, err := io.WriteString(c, "GET /v1/fdb HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		assert.Must(t, err)
		begun, octets := time.Now(), int64(0)
		for n := int64(1); n > 0; octets += n {
			time.Sleep(3 * time.Second)
			n, err = io.CopyN(io.Discard, c, 64<<10)
		}
		assert.True(t, octets >= slowAnswer && err == io.EOF, "%d octets of an answer of more than %d in %v: %v",
			octets, slowAnswer, time.Since(begun), err)
		_ = c.Close()
	})
}

// A browser that watches is not cut off.
func TestWatchingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servePipes(t).dial()
		go func() { _, _ = io.WriteString(c, "GET /v1/view HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
		views := 0
		b := bufio.NewScanner(c)
		for begun := time.Now(); time.Since(begun) < time.Hour && b.Scan(); {
			if strings.HasPrefix(b.Text(), "data: ") {
				views++
			}
		}
		assert.True(t, views >= 3599, "%d views in an hour: %v", views, b.Err())
		_ = c.Close()
	})
}

// A slowSource is a switch with a large filtering database and nothing else.
type slowSource struct{ api.Source }

func (slowSource) Name() string                                           { return "s1" }
func (slowSource) Snapshot(v *dataplane.Snapshot)                         { *v = dataplane.Snapshot{} }
func (slowSource) ClearWatermarks()                                       {}
func (slowSource) KernelBacklogDrops() uint64                             { return 0 }
func (slowSource) Interfaces(all []capture.Interface) []capture.Interface { return all }

func (slowSource) FDB() []bridge.Entry {
	all := make([]bridge.Entry, slowAnswer/100)
	for i := range all {
		all[i] = bridge.Entry{MAC: uint64(i), VID: 1, Static: true}
	}
	return all
}

const (
	// octets that the answer about the filtering database has at least: more than sockets hold
	slowAnswer  = 4 << 20
	controlTime = 10 * time.Second // what the control socket gives for the rest of a request, and for taking an answer
)

// serveLocal serves a control socket and returns its path.
func serveLocal(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	l := assert.Got(net.Listen("unix", path)).Must(t)
	s := NewLocalServer(api.NewServer(slowSource{}, time.Now(), 0), slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { _, _ = s.Close(), <-ended })
	return path
}

// Headers and bodies have a bound, at the metrics address and at the control socket.
func TestBounds(t *testing.T) {
	address, socket, long := serve(t, Config{}), serveLocal(t), strings.Repeat("a", 64<<10)
	const host = " HTTP/1.1\r\nHost: localhost\r\n"
	for _, tt := range []struct{ name, address, sent, want string }{
		{"a long header", address, "GET /" + host + "X-A: " + long + "\r\n\r\n", " 431 "},
		{"a long path", address, "GET /?" + long + host + "\r\n", " 431 "},
		{"a long body that nobody asked for", address, "GET /v1/state" + host + "Content-Length: 100000000000\r\n\r\n",
			" 200 "},
		{"a long header", socket, "GET /v1/ports" + host + "X-A: " + long + "\r\n\r\n", " 431 "},
		{"a long path", socket, "GET /v1/" + long + host + "\r\n", " 431 "},
		{"a long configuration", socket, "POST /v1/apply" + host + "Content-Length: 2000000\r\n\r\n" +
			strings.Repeat("a", 2_000_000), " 400 "},
		{"a long frame", socket, "POST /v1/explain?port=p1" + host + "Content-Length: 70000\r\n\r\n" +
			strings.Repeat("a", 70_000), " 400 "},
	} {
		c := dial(t, tt.address)
		go func() { _, _ = io.WriteString(c, tt.sent) }() // it may be cut off before all is sent
		if got := answered(t, c); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %s, want%sand its end", tt.address, tt.name, got, tt.want)
		}
	}
}

// A thousand idle connections, half of them used once, take little memory and keep nobody out.
func TestThousandIdle(t *testing.T) {
	const idle = 1000
	state := sampleState()
	b := fastPoller(Switch{Label: "s1", Read: func(context.Context) (*api.State, error) { return state, nil }})
	address := serve(t, Config{Poller: b})
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
		r, err := client.Get("http://" + address + "/v1/state")
		assert.Must(t, err)
		_, err = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		assert.True(t, err == nil && r.StatusCode == http.StatusOK, "beside %d idle connections: %s, %v", idle,
			r.Status, err)
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
