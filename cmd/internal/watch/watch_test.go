package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// A switchboard answers by the number of the question.
type switchboard struct {
	asked  int
	answer func(n int) (api.Reply, error)
}

func (s *switchboard) ask(context.Context) (api.Reply, error) {
	s.asked++
	return s.answer(s.asked)
}

// ports is an answer of a switch that was started at a time, with so many received frames at a moment of its clock.
func ports(started time.Time, ns int64, frames uint64) *api.Ports {
	return &api.Ports{Header: api.Header{Schema: 1, Started: started, SwitchNs: ns},
		Ports: []api.Port{{Port: "p1", ReceiveFrames: frames}}}
}

func rates(out io.Writer, r api.Reply) error {
	text := "no rate"
	if x := r.(*api.Ports).Ports[0].Recent; x != nil {
		text = fmt.Sprintf("%v frames/s", x.ReceiveFrames)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

// Rates are by the measured time between two answers. An outage and a restart are each reported once.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &switchboard{answer: func(n int) (api.Reply, error) {
			switch n {
			case 1:
				return ports(begin, 0, 0), nil
			case 2:
				return ports(begin, 2e9, 1000), nil // it was late
			case 3, 4:
				return nil, errors.New("no switch")
			case 5:
				return ports(begin, 4e9, 1100), nil
			}
			return ports(begin.Add(time.Minute), int64(n-6)*1e9, uint64(10*(n-6))), nil
		}}
		var out, notice strings.Builder
		ctx, cancel := context.WithTimeout(context.Background(), 6500*time.Millisecond)
		defer cancel()
		err := Run(ctx, Options{Ask: s.ask, Every: time.Second, Print: rates, Out: &out, Notices: &notice})
		assert.Must(t, err)
		want := "no rate\n500 frames/s\n50 frames/s\nno rate\n10 frames/s\n"
		assert.True(t, out.String() == want, "got\n%swant\n%s", out.String(), want)
		got := notice.String()
		assert.True(t, strings.Count(got, "no switch") == 1 && strings.Count(got, "answers again") == 1 &&
			strings.Count(got, "started again") == 1, "notice\n%s", got)
	})
}

func TestWatchNoSwitch(t *testing.T) {
	s := &switchboard{answer: func(int) (api.Reply, error) { return nil, errors.New("no switch") }}
	err := Run(context.Background(), Options{Ask: s.ask, Every: time.Second})
	assert.True(t, err != nil, "no error where there is no switch at first")
}

// On a terminal each answer is written over the previous one, as far as there is room.
func TestRedraw(t *testing.T) {
	var out strings.Builder
	w := watcher{Options: Options{Every: time.Second, Out: &out, Size: func() (int, int) { return 20, 6 },
		Colour: func(text string) string { return strings.ReplaceAll(text, "far", "<far>") },
		Print: func(b io.Writer, _ api.Reply) error {
			_, err := fmt.Fprint(b, "a line that is far too long for it\n2\n3\n4\n5\n")
			return err
		}}}
	assert.Must(t, w.show(ports(time.Now(), 0, 0)))
	lines := strings.Split(out.String(), "\r\n")
	assert.True(t, len(lines) == 6 && strings.HasPrefix(lines[0], cursorHome+"every 1s, ") &&
		lines[2] == "a line that is <far> t"+eraseLine && lines[4] == "… and 3 lines more: "+eraseLine &&
		lines[5] == eraseBelow, "%q", lines)
}

// A removed port is not reported as a switch that does not answer.
func TestWatchPortThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &switchboard{answer: func(n int) (api.Reply, error) {
			if n == 2 {
				return nil, &api.NoPortError{Name: "p1", Existing: []string{"p2"}}
			}
			return ports(begin, int64(n)*1e9, 0), nil
		}}
		var notice strings.Builder
		ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
		defer cancel()
		assert.Must(t,
			Run(ctx, Options{Ask: s.ask, Every: time.Second, Print: rates, Out: io.Discard, Notices: &notice}))
		got := notice.String()
		assert.True(t,
			strings.Contains(got, "nothing to show, which is tried again: there is no port p1: there are p2\n") &&
				strings.Contains(got, "the port is there again") && !strings.Contains(got, "answer"), "notice\n%s", got)
	})
}
