package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// busy is a switch whose events the test makes.
type busy struct {
	fake
	sync.Mutex
	all []dataplane.Event
}

func (b *busy) Events(since uint64) []dataplane.Event {
	b.Lock()
	defer b.Unlock()
	return append([]dataplane.Event(nil), b.all[min(since, uint64(len(b.all))):]...)
}

func (b *busy) NextEvent() uint64 {
	b.Lock()
	defer b.Unlock()
	return uint64(len(b.all))
}

func (b *busy) happen(n int, text string) {
	b.Lock()
	defer b.Unlock()
	for range n {
		b.all = append(b.all, dataplane.Event{Seq: uint64(len(b.all)), Kind: dataplane.EventLoop, Priority: -1,
			Text: text, Count: 1})
	}
}

func (b *busy) again() {
	b.Lock()
	defer b.Unlock()
	b.all[len(b.all)-1].Count++
}

// The stream has the state, then the events since, new events, and events whose count grows. The reader ends it.
func TestFollow(t *testing.T) {
	b := &busy{}
	b.happen(3, "before")
	c, _ := serve(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var got []string
	since := uint64(1)
	err := c.Follow(ctx, &since, func(_ []byte, line *Line) error {
		switch {
		case line.Type == LineState && line.State != nil && line.Event == nil:
			got = append(got, fmt.Sprintf("state of %s, next %d, %d ports", line.State.Switch, line.State.NextEvent,
				len(line.State.Ports)))
		case line.Type == LineEvent && line.Event != nil && line.State == nil:
			got = append(got, fmt.Sprintf("%d %s %d", line.Event.Seq, line.Event.Text, line.Event.Count))
		}
		switch len(got) {
		case 3:
			b.happen(1, "new")
		case 4:
			b.again()
		case 5:
			cancel()
		}
		return nil
	})
	want := "state of s1, next 3, 3 ports; 1 before 1; 2 before 1; 3 new 1; 3 new 2"
	text := strings.Join(got, "; ")
	assert.True(t, err == nil && text == want, "got %s, %v, want %s", text, err, want)
}

// The state of a stream counts since the start, whatever the user has cleared.
func TestFollowAfterAClear(t *testing.T) {
	b := &busy{}
	server := NewServer(b, start, 0)
	c, _ := serveServer(t, server)
	server.clearCounters()
	seen := errors.New("seen")
	err := c.Follow(context.Background(), nil, func(_ []byte, line *Line) error {
		if s := line.State; s == nil || s.Cleared != nil || s.LosslessDrops != 2 || s.ElapsedNs != 20e9 {
			t.Errorf("the state is %+v", s)
		}
		return seen
	})
	assert.True(t, errors.Is(err, seen), "%v", err)
}

// Only new events come without a sequence number, or with one beyond the newest event, as after a restart.
func TestFollowNew(t *testing.T) {
	for _, since := range []*uint64{nil, new(uint64(99))} {
		b := &busy{}
		b.happen(3, "before")
		c, _ := serve(t, b)
		err := c.Follow(context.Background(), since, func(_ []byte, line *Line) error {
			if line.Type == LineState {
				b.happen(1, "new")
				return nil
			}
			return errors.New(line.Event.Text)
		})
		assert.True(t, err != nil && err.Error() == "new", "since %v: %v", since, err)
	}
}

// What merges into an event from before the stream comes, and nothing else of the events before.
func TestFollowOlderEventGrows(t *testing.T) {
	for _, since := range []*uint64{nil, new(uint64(3))} {
		b := &busy{}
		b.happen(3, "before")
		c, _ := serve(t, b)
		err := c.Follow(context.Background(), since, func(_ []byte, line *Line) error {
			if line.Type == LineState {
				b.again()
				return nil
			}
			return fmt.Errorf("%d %s %d", line.Event.Seq, line.Event.Text, line.Event.Count)
		})
		assert.True(t, err != nil && err.Error() == "2 before 2", "since %v: %v", since, err)
	}
}

// A reader that does not read is cut off with a reason, and counted. Other readers go on.
func TestFollowSlowReader(t *testing.T) {
	b := &busy{}
	server := NewServer(b, start, 0)
	c, path := serveServer(t, server)
	conn := assert.Got(net.Dial("unix", path)).Must(t)
	defer func() { _ = conn.Close() }()
	assert.Got(fmt.Fprint(conn, "GET /v1/follow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).Must(t)
	long := strings.Repeat("x", 1000)
	labtest.Eventually(t, "the reader is cut off", func() bool { b.happen(100, long); return server.cutOff.Load() > 0 })
	last := ""
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if strings.Contains(lines.Text(), `"type"`) {
			last = lines.Text()
		}
	}
	assert.True(t, strings.Contains(last, `"type":"end"`) && strings.Contains(last, "too slow"),
		"the last line is %.200s", last)
	r, err := c.Show(context.Background(), "events")
	if err != nil || r.(*Events).CutOff != 1 || !strings.Contains(r.Text(), "1 readers of the events were too slow") {
		t.Errorf("%v, %+v", err, r.(*Events).CutOff)
	}
	n := server.followers.Load()
	assert.True(t, n <= 1, "%d readers follow", n)
}

// The number of readers is limited, and a surplus reader gets the reason.
func TestFollowTooMany(t *testing.T) {
	server := NewServer(&busy{}, start, 0)
	c, _ := serveServer(t, server)
	server.followers.Store(maxFollowers)
	assert.Fails(t, c.Follow(context.Background(), nil, nil), "64 readers", "error")
}
