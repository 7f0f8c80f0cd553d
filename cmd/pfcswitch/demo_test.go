package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// Wrong arguments of a demo have exit status 2; status 1 would mean that the switch failed.
func TestDemoUsage(t *testing.T) {
	for _, args := range []string{"nonsense", "incast incast", "--nonsense", "--speed fast", "--seconds NaN",
		"--seconds 0", "--seconds +Inf", "--seconds x"} {
		c := demoCommand()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs(strings.Fields(args))
		var e exit
		if err := c.Execute(); !errors.As(err, &e) || e.status != couldNotRun {
			t.Errorf("demo %s: %v, want exit status %d", args, err, couldNotRun)
		}
	}
}

func TestDemoTellsItsNames(t *testing.T) {
	assert.Equal(t, demoCommand().Use, "demo ["+strings.Join(demoNames(), "|")+"]", "it is used")
}

func TestStay(t *testing.T) {
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		in    string
		stays bool
	}{
		{"Enter", context.Background(), "\n", false},
		{"an interrupt", interrupted, "", false},
		{"the end of the input", context.Background(), "", true},
	} {
		ctx, end := context.WithCancel(tt.ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			waitForUser(ctx, strings.NewReader(tt.in), io.Discard, nil)
		}()
		limit := 10 * time.Second
		if tt.stays {
			limit = 100 * time.Millisecond
		}
		left := false
		select {
		case <-done:
			left = true
		case <-time.After(limit):
		}
		if left == tt.stays {
			t.Errorf("%s: the lab was left: %v", tt.name, left)
		}
		end()
		<-done
	}
}
