package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/cmd/internal/api"
)

// dial opens a connection that stays until the test ends.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
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

// Pipes is a listener whose connections are pipes, which know virtual time.
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

// servePipes runs a server as the switch does, on pipes, until the test ends.
func servePipes(t *testing.T) pipes {
	p := make(pipes)
	board := sampleBoard()
	s := NewServer(handler(t, Config{Board: board}), slog.New(slog.NewTextHandler(io.Discard, nil)))
	var serving sync.WaitGroup
	serving.Go(func() { _ = Serve(s, p, "", nil) })
	t.Cleanup(func() {
		close(p)
		_ = s.Close()
		serving.Wait()
		board.Close()
	})
	return p
}

// Whatever a client is slow with, it is cut off in time.
func TestSlowClients(t *testing.T) {
	for _, tt := range []struct {
		name, sent, more string // more is sent again and again
		within           time.Duration
	}{
		{"nothing", "", "", headerTime},
		{"half a line", "GET / HT", "", headerTime},
		{"a header without end", "GET / HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", headerTime},
		{"a body that does not come", "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n", "", requestTime},
		{"a body that trickles", "POST /v1/apply HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n", "a", requestTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servePipes(t).dial()
				begun := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() {
					_, err := io.WriteString(c, tt.sent)
					for err == nil {
						time.Sleep(200 * time.Millisecond)
						_, err = io.WriteString(c, tt.more)
					}
				})
				_, _ = io.Copy(io.Discard, c)
				if took := time.Since(begun); took > tt.within+time.Second { // net/http lingers for half a second
					t.Errorf("cut off after %v, want %v", took, tt.within)
				}
				_ = c.Close()
				sending.Wait()
			})
		})
	}
}

// One that watches is not cut off.
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
		if views < 3599 {
			t.Errorf("%d views in an hour: %v", views, b.Err())
		}
		_ = c.Close()
	})
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
	state := sampleState()
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
		r, err := client.Get("http://" + address + "/v1/state")
		must(t, err)
		_, err = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("beside %d idle connections: %s, %v", idle, r.Status, err)
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
