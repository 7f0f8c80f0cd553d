package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Switches of one process that would take each other's socket or address are refused before any starts.
func TestChooseGuestsRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name+".yaml")
		assert.Must(t, os.WriteFile(path, []byte("name: "+name+"\npreset: roce\nports: {none0: {}}\n"), 0o600))
		return path
	}
	a, b := file("a"), file("b")
	for _, c := range []struct {
		files, namespaces []string
		metrics, want     string // empty: accepted
	}{
		{[]string{a, a}, nil, "off", "same control socket"},
		{[]string{a, b}, nil, "127.0.0.1:9810", "same network namespace"},
		{[]string{a, b}, []string{"x", "y"}, "127.0.0.1:9810", ""},
		{[]string{a, b}, nil, "off", ""},
		{[]string{a}, []string{"x/y"}, "off", "is not a network namespace"},
	} {
		_, err := chooseGuests(t.Context(), c.files, c.namespaces, nil, c.metrics, slog.Default())
		assert.True(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)),
			"%v %v %s: %v, want %q", c.files, c.namespaces, c.metrics, err, c.want)
	}
}

// The log has the lines from a level on, in the format that the flags name; what they do not name is refused.
func TestLogFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "info warn error",
		"--log-level debug":            "debug info warn error",
		"--log-level warn --log json":  "warn error",
		"--log json --log-level error": "error",
		"--log-level Info":             "--log-level Info: the levels are debug, info, warn and error",
		"--log-level info+1":           "--log-level info+1: the levels are",
		"--log xml":                    "--log xml: the formats are text and json",
	} {
		for _, command := range []*cobra.Command{runCommand(), nicCommand()} {
			assert.MustNoError(t, command.ParseFlags(strings.Fields(args)), "%s %s", command.Name(), args)
			l := logFlags{command.Flag("log").Value.String(), command.Flag("log-level").Value.String()}
			var out strings.Builder
			log, err := l.open(&out)
			if err != nil {
				assert.True(t, strings.HasPrefix(err.Error(), want), "%q: %v, want %q", args, err, want)
				continue
			}
			for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				log.Log(t.Context(), level, strings.ToLower(level.String()))
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				var record struct{ Msg string }
				if l.format == "text" {
					_, record.Msg, _ = strings.Cut(strings.TrimSpace(line), "msg=")
				} else if err := json.Unmarshal([]byte(line), &record); err != nil {
					t.Errorf("%q: %v", line, err)
				}
				got = append(got, record.Msg)
			}
			assert.Equal(t, strings.Join(got, " "), want, "%q: lines", args)
		}
	}
}
