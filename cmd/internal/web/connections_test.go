package web

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

type fakeConn struct {
	net.Conn
	number int
	closed bool
}

func (c *fakeConn) Close() error { c.closed = true; return nil }

// The connection that was idle longest is closed, never a busy one. If all are busy, the new one is closed.
func TestTooManyConnections(t *testing.T) {
	limit := &connections{max: 2}
	conns := make([]*fakeConn, 5)
	for i := range conns {
		conns[i] = new(fakeConn)
	}
	closed := func() (list []int) {
		for i, c := range conns {
			if c.closed {
				list = append(list, i)
			}
		}
		return list
	}
	for step, s := range []struct {
		conn  int
		state http.ConnState
		gone  int // how many are closed after it
	}{
		{0, http.StateNew, 0}, {0, http.StateActive, 0}, {1, http.StateNew, 0},
		{2, http.StateNew, 1}, // 1 waits
		{1, http.StateClosed, 1}, {2, http.StateActive, 1},
		{3, http.StateNew, 2}, // all work
		{3, http.StateActive, 2}, {3, http.StateClosed, 2}, {2, http.StateClosed, 2}, {4, http.StateNew, 2},
	} {
		limit.connState(conns[s.conn], s.state)
		assert.MustEqual(t, len(closed()), s.gone, "step %d: closed %v", step, closed())
	}
	got := closed()
	assert.True(t, got[0] == 1 && got[1] == 3, "closed were %v, want 1 and 3", got)
}

// No more connections than the limit are open, and a busy one is never closed for another.
func TestConnectionsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := &connections{max: rapid.IntRange(1, 4).Draw(t, "most")}
		open := map[*fakeConn]http.ConnState{}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			conn, next := &fakeConn{number: n}, http.StateNew
			if list := byNumber(open); len(list) > 0 && rapid.Bool().Draw(t, "old") {
				conn = rapid.SampledFrom(list).Draw(t, "conn")
				next = rapid.SampledFrom([]http.ConnState{http.StateActive, http.StateIdle, http.StateClosed}).Draw(t,
					"next")
			}
			open[conn] = next
			limit.connState(conn, next)
			if next == http.StateClosed {
				delete(open, conn)
			}
			for c, state := range open {
				assert.MustBeTrue(t, !c.closed || state != http.StateActive || c == conn, "one that works was closed")
				if c.closed {
					delete(open, c)
				}
			}
			assert.MustBeTrue(t, len(open) <= limit.max && len(limit.waiting) == len(open),
				"%d are open and %d known, want at most %d", len(open), len(limit.waiting), limit.max)
		}
	})
}

func byNumber(open map[*fakeConn]http.ConnState) []*fakeConn {
	return slices.SortedFunc(maps.Keys(open), func(a, b *fakeConn) int { return a.number - b.number })
}
