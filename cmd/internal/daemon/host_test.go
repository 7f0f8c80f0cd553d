package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// Of several switches, the one of which a change does not come to its end is the one that hangs.
func TestTheHungOneOfSeveralSwitches(t *testing.T) {
	var switches []*Daemon
	for _, name := range []string{"a", "b", "c"} {
		d := assert.Got(New(parse(t, fmt.Sprintf("name: %s\npreset: roce\nmetrics: {listen: off}\napi: {socket: %s}\n"+
			"ports: {none0: {}}\n", name, filepath.Join(t.TempDir(), "s"))), slog.New(slog.DiscardHandler))).Must(t)
		t.Cleanup(func() { must(t, d.Close()) })
		switches = append(switches, d)
	}
	look := func(switches []*Daemon, patience time.Duration) (*Daemon, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return firstHung(ctx, switches)
	}
	if hung, err := look(switches, Timeout); hung != nil || err != nil {
		t.Errorf("none hangs: %v, %v", hung, err)
	}
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		left <- switches[1].runner.Do(func(*dataplane.Switch) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	if hung, err := look(switches[:1], Timeout); hung != nil || err != nil {
		t.Errorf("the first one does not hang: %v, %v", hung, err)
	}
	hung, err := look(switches[1:], 100*time.Millisecond)
	assert.True(t, hung == switches[1] && errors.Is(err, context.DeadlineExceeded), "the second one hangs: %v", err)
	close(leave)
	must(t, <-left)
	hung, err = look(switches, Timeout)
	assert.True(t, hung == nil && err == nil, "it goes on: %v, %v", hung, err)
}
