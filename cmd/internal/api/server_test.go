package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// Every error is JSON, also for an unknown path or method.
func TestErrorsAreJSON(t *testing.T) {
	server := NewServer(&fake{}, start, 0)
	for _, tt := range []struct {
		method, path string
		status       int
		allow, want  string
	}{
		{"DELETE", "/v1/ports", 405, "GET, HEAD", "/v1/ports cannot be asked for by DELETE, only by GET"},
		{"GET", "/v1/apply", 405, "POST", "/v1/apply cannot be asked for by GET, only by POST"},
		{"PUT", "/v1/clear/counters", 405, "POST", "only by POST"},
		{"POST", "/v1/capture", 405, "GET, HEAD", "only by GET"},
		{"GET", "/v1/nothing", 404, "", `\"nothing\" is nothing that can be shown`},
		{"POST", "/v1/nothing", 404, "", `\"nothing\" is nothing that can be shown`},
		{"GET", "/x", 404, "", `there is no \"/x\": every request is below /v1/`},
		{"GET", "/", 404, "", "every request is below /v1/"},
		{"GET", "/v1/", 404, "", "every request is below /v1/"},
		{"GET", "/v1/../../x", 404, "", "every request is below /v1/"},
		{"GET", "/v1//ports", 404, "", "every request is below /v1/"},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		body := w.Body.String()
		if w.Code != tt.status || w.Header().Get("Allow") != tt.allow ||
			w.Header().Get("Content-Type") != "application/json" ||
			!strings.HasPrefix(body, `{"schema":1,"error":"`) || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: status %d, Allow %q, %s; want %d, %q, %s", tt.method, tt.path, w.Code,
				w.Header().Get("Allow"), body, tt.status, tt.allow, tt.want)
		}
	}
}

// The time that counters cover is of the switch's clock. Setting the machine's clock does not change it.
func TestElapsedTimeIsOfTheSwitch(t *testing.T) {
	f := &fake{}
	s := NewServer(f, time.Now().Add(24*time.Hour), 15e9) // the clock was set back by a day since
	m := s.moment(0)
	if share := m.share(1e9); m.ElapsedNs != 5e9 || share != 0.2 {
		t.Errorf("%d ns since the start, of which a second is %v; want 5 s", m.ElapsedNs, share)
	}
	s.clearCounters()
	f.later = 2e9
	if m, state := s.moment(0), s.State(); m.ElapsedNs != 2e9 || state.ElapsedNs != 7e9 {
		t.Errorf("%d ns since the clear and %d since the start, want 2 s and 7 s", m.ElapsedNs, state.ElapsedNs)
	}
}

// A client that stops in the middle of a configuration, or goes away, gets an error and is cut off.
func TestHalfAConfiguration(t *testing.T) {
	patience := configTimeout
	configTimeout = 50 * time.Millisecond
	t.Cleanup(func() { configTimeout = patience })
	f := &fake{}
	_, socket := serve(t, f)
	for _, closes := range []bool{false, true} {
		conn, err := net.Dial("unix", socket)
		assert.Must(t, err)
		_, err = fmt.Fprint(conn, "POST /v1/apply HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nname: x\n")
		assert.Must(t, err)
		if closes {
			assert.Must(t, conn.(*net.UnixConn).CloseWrite())
		}
		assert.Must(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
		r := bufio.NewReader(conn)
		answer := assert.Got(http.ReadResponse(r, nil)).Must(t)
		said, err := io.ReadAll(answer.Body)
		assert.True(t, err == nil && answer.StatusCode == http.StatusBadRequest && f.applied == "" &&
			strings.Contains(string(said), "the configuration cannot be read"),
			"closes %v: %d %s %v, want 400 and a reason", closes, answer.StatusCode, said, err)
		_, err = r.ReadByte()
		assert.True(t, err == io.EOF, "closes %v: the connection goes on: %v", closes, err)
		_ = conn.Close()
	}
}

// lateJSON takes long to become JSON.
type lateJSON struct{}

func (lateJSON) MarshalJSON() ([]byte, error) {
	time.Sleep(2 * clientTimeout)
	return []byte(`"late"`), nil
}

// A switch that makes its answer slowly does not cut its client off for that.
func TestSlowlyMadeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reply(w, &lateJSON{})
		})}
		var serving sync.WaitGroup
		l := newOneConn(server)
		serving.Go(func() { _ = s.Serve(l) })
		defer func() {
			_, _ = client.Close(), s.Close()
			serving.Wait()
		}()
		assert.Got(io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")).Must(t)
		answer := assert.Got(http.ReadResponse(bufio.NewReader(client), nil)).Must(t)
		said, err := io.ReadAll(answer.Body)
		assert.True(t, err == nil && string(said) == "\"late\"\n", "%q, %v", said, err)
	})
}

// A oneConn is a listener with one connection.
type oneConn struct {
	conn  chan net.Conn
	close func()
}

func newOneConn(c net.Conn) oneConn {
	l := oneConn{conn: make(chan net.Conn, 1)}
	l.close = sync.OnceFunc(func() { close(l.conn) })
	l.conn <- c
	return l
}

// Accept implements net.Listener.
func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l oneConn) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// An answer that cannot be made is an error, and not an empty one.
func TestAnswerThatCannotBeMade(t *testing.T) {
	w := httptest.NewRecorder()
	reply(w, new(math.NaN()))
	assert.True(t, w.Code == http.StatusInternalServerError && strings.Contains(w.Body.String(), "NaN"),
		"status %d, %s", w.Code, w.Body)
}

// No answer shows a port that is down as running or paused.
func TestDownPorts(t *testing.T) {
	for _, up := range []bool{true, false} {
		m := &moment{source: &fake{}, base: &baseline{}}
		m.source.Snapshot(&m.snapshot)
		for i := range m.snapshot.Ports {
			m.snapshot.Ports[i].Up = up
		}
		for _, p := range m.readPFC().Ports {
			for _, q := range p.Priorities {
				assert.True(t, !q.Lossless || (q.State == "down") != up,
					"up %v: show pfc: %s is %s", up, p.Port, q.State)
			}
		}
		buffer := m.readBuffer()
		text := buffer.ingressTable().String()
		assert.True(t, strings.Contains(text, "runs") == up && (!strings.Contains(text, "held") || up),
			"up %v: show buffer:\n%s", up, text)
		info := HeadroomInfo{Port: m.snapshot.Ports[0].Config.Name, Packing: headroom.Packing{Cell: 256}}
		p := m.headroomPort(&info)
		assert.True(t, (p.State == "down") != up, "up %v: show headroom: %s", up, p.State)
	}
}

// A port that is lossy because its link swallows control frames has no priority under PFC, whatever was agreed.
func TestNothingIsHeldWithoutFlowControl(t *testing.T) {
	m := &moment{source: &fake{}}
	m.source.Snapshot(&m.snapshot)
	assert.Equal(t, len(m.readLLDP().Ports[0].DCBX.LosslessPriorities), 1, "with PFC")
	m.snapshot.Ports[0].Config.Mode = macctl.ModeOff
	assert.Equal(t, len(m.readLLDP().Ports[0].DCBX.LosslessPriorities), 0, "flow control is off")
}

// An empty answer says that there is nothing to show.
func TestNothingToShow(t *testing.T) {
	m := &moment{source: &fake{empty: true}, snapshot: dataplane.Snapshot{}}
	for want, r := range map[string]Reply{"no station is known": m.readFDB(), "no port speaks LLDP": m.readLLDP(),
		"there is no trunk": m.readTrunk()} {
		assert.True(t, strings.HasSuffix(r.Text(), "\n"+want+"\n"), "no %q in %q", want, r.Text())
	}
}

// The state has what show prints of the same moment. A clear does not change its counters.
func TestState(t *testing.T) {
	f := &fake{}
	c, _ := serve(t, f)
	assert.Must(t, c.Clear(context.Background(), "counters"))
	b := assert.Got(c.Raw(context.Background(), "state", 0)).Must(t)
	var s State
	assert.Must(t, json.Unmarshal(b, &s))
	assert.True(t, s.Schema == Schema && s.Cleared == nil && s.LosslessDrops == 2 && s.SwitchNs == 20e9 &&
		s.PFC[0].Priorities[3].SentPausedNs == 812_000_000, "counters were cleared, or are missing: %+v", s.Header)
	m := momentOf(f)
	m.recent.old = nil // the server that was asked has no older one
	for noun, got := range map[string]any{
		"ports": &Ports{Header: s.Header, Ports: s.Ports}, "queues": &Queues{s.Header, s.Queues},
		"headroom": &Headroom{s.Header, s.Headroom},
		"watchdog": &Watchdog{s.Header, s.Watchdog}, "lldp": &LLDP{s.Header, s.LLDP},
		"buffer": &Buffer{s.Header, s.Pools, s.Buffer},
	} {
		text, want := got.(Reply).Text(), nouns[noun].answer(m).Text()
		assert.True(t, tail(text) == tail(want), "%s:\n%s\nwant\n%s", noun, text, want)
	}
	assert.Equal(t, len(s.Events), 2, "events %+v", s.Events)
}

// tail cuts off the headline, which has the time.
func tail(text string) string {
	for i := range text {
		if text[i] == '\n' {
			return text[i:]
		}
	}
	return text
}

// The state has the newest events.
func TestStateOfManyEvents(t *testing.T) {
	all := make([]Event, 3*newestEvents)
	got := newest(all)
	assert.True(t, len(got) == newestEvents && &got[0] == &all[2*newestEvents], "%d events", len(got))
	assert.Equal(t, len(newest(all[:7])), 7, "events of 7")
}
