package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/demo"
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

// In text, results come as phases end, and then the rest; with -j there is the report as JSON, and nothing else. The
// page is written where it is wanted. Where no demo ran, there is none, or the one of before.
func TestDemoOutput(t *testing.T) {
	for _, tt := range []struct {
		asJSON bool
		err    error
		starts string // standard output
		page   string
	}{
		{false, nil, "(a) first\nFAILED (a) lost: want 0, got 1\n\nFAIL (1 checks, 1 failed)\n", "<!doctype html>"},
		{true, nil, "{\n  \"schema\": 1,\n", "<!doctype html>"},
		{false, errors.New("no namespaces"), "(a) first\n", ""},
	} {
		d := demoEntry{run: func(_ context.Context, o demo.Options) (*demo.Report, error) {
			o.Progress("phase 1/1")
			assert.True(t, (o.Results == nil) == tt.asJSON && o.Record,
				"JSON %v: results are wanted: %v, recorded: %v", tt.asJSON, o.Results != nil, o.Record)
			if o.Results != nil {
				assert.Must(t, o.Results("(a) first\n"))
			}
			r := &demo.Report{Schema: 1}
			if r.Hard("a", demo.TopicLoss, "lost", "0", "1", false); tt.err != nil {
				r = nil
			}
			return r, tt.err
		}}
		var out strings.Builder
		c := &cobra.Command{}
		c.SetOut(&out)
		page := filepath.Join(t.TempDir(), "a.html")
		var e exit
		err := d.show(c, demo.Options{}, tt.asJSON, page)
		assert.True(t, errors.As(err, &e) && (e.status == couldNotRun) == (tt.err != nil), "%v: %v", tt.err, err)
		assert.True(t, strings.HasPrefix(out.String(), tt.starts) && tt.asJSON == json.Valid([]byte(out.String())),
			"%q, want %q", out.String(), tt.starts)
		b, err := os.ReadFile(page)
		assert.True(t, strings.HasPrefix(string(b), tt.page) && (err == nil) == (tt.page != ""),
			"the page is %.20q, %v, want %q", b, err, tt.page)
		assert.Must(t, os.WriteFile(page, []byte("before"), 0o600))
		_ = d.show(c, demo.Options{}, tt.asJSON, page) // as above
		b = assert.Got(os.ReadFile(page)).Must(t)
		assert.Equal(t, string(b) == "before", tt.err != nil, "the page of before is there: %.20q", b)
	}
}

// The line of a terminal is written anew, and is no longer than that: what wraps cannot be taken away.
func TestInPlace(t *testing.T) {
	for text, want := range map[string]string{"": "", "ab µs": "ab µs", "ab µs, c": "ab µs, "} {
		got := inPlace(text, 8)
		assert.True(t, got == "\r\x1b[K"+want, "%q is written as %q", text, got)
	}
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
		assert.True(t, left != tt.stays, "%s: the lab was left: %v", tt.name, left)
		end()
		<-done
	}
}
