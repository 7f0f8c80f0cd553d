package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/watch"
	"pfcswitch/dataplane/assert"
)

// run runs a command and returns what it prints, and its exit status.
func run(t *testing.T, c *cobra.Command, args ...string) (out string, status int) {
	t.Helper()
	var b bytes.Buffer
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(&b)
	c.SetArgs(args)
	err := c.Execute()
	var e exit
	switch {
	case errors.As(err, &e):
		return b.String(), e.status
	case err != nil:
		return err.Error(), 1
	}
	return b.String(), 0
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "leaf.yaml")
	assert.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// explain works on a configuration file, with a frame from flags or from a file, as text and as JSON.
func TestExplainCommand(t *testing.T) {
	file := writeFile(t, "name: leaf1\npreset: roce\nports: {p1: {}, p2: {}}\n")
	frames := filepath.Join(t.TempDir(), "frames.hex")
	assert.Must(t, os.WriteFile(frames,
		[]byte("020000000002020000000001810060000800\n0180c2000001020000000001 8808 0001\n"),
		0o600))
	for _, test := range []struct {
		args   string
		status int
		want   string
	}{
		{"--in p1 --dst 02:00:00:00:00:02 --pcp 3 -c " + file, 0, "in by p1, by the configuration of leaf1"},
		{"--in p1 --hex " + frames + " --frames 9 -j -c " + file, 0, `"verdict": "taken"`},
		{"--in p1 --pcap " + frames + " -c " + file, 1, "not a capture"},
		{"--in p1 --hex " + frames + " --pcap x -c " + file, 1, "exclude each other"},
		{"--in p1 --hex " + frames + " --frames 0 -c " + file, 1, "--frames 0"},
		{"--in p1 --hex /no/such -c " + file, 1, "/no/such"},
		{"--in p9 --dst 02:00:00:00:00:02 -c " + file, 1, "it has p1, p2"},
		{"--dst 02:00:00:00:00:02", 1, "--in is missing"},
		{"--in p1", 1, "--dst is missing"},
		{"--in p1 --dst 02:00:00:00:00:02 -s /no/such.sock", 1, "no running switch found at /no/such.sock"},
	} {
		out, status := run(t, explainCommand(), strings.Fields(test.args)...)
		assert.True(t, status == test.status && strings.Contains(out, test.want),
			"%s: status %d, want %d, and %q in\n%s", test.args, status, test.status, test.want, out)
	}
}

// linkcheck and doctor have exit status 2 where they could not look, and doctor has 1 with findings.
func TestCouldNotLook(t *testing.T) {
	for _, args := range []string{"", "p1 --interface eth0", "--answer p1", "p1 -s /no/such.sock",
		"--interface " + noInterface, "--interface x --count 0", "--interface x --patience 0s"} {
		out, status := run(t, linkcheckCommand(), strings.Fields(args)...)
		assert.True(t, status == 2 && out == "", "linkcheck %s: status %d, want 2: %s", args, status, out)
	}
	for _, args := range []string{"/no/such.yaml", "-s /no/such.sock", "x.yaml -s y"} {
		out, status := run(t, doctorCommand(), strings.Fields(args)...)
		assert.True(t, status == 2 && out == "", "doctor %s: status %d, want 2: %s", args, status, out)
	}
	file := writeFile(t, "ports: {p1: {interface: "+noInterface+"}}\n")
	out, status := run(t, doctorCommand(), file, "-j")
	assert.True(t, status == 1 && strings.Contains(out, `"trap": "missing-interface"`),
		"doctor: status %d, want 1: %s", status, out)
}

// A stopped switch accepts requests and answers none. A command says so after a time limit.
func TestStoppedSwitch(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	l := assert.Got(net.Listen("unix", socket)).Must(t)
	defer func() { _ = l.Close() }() // it accepts nobody
	type ended struct {
		args, out string
		status    int
	}
	want := map[string]int{"health": 1, "doctor": 2, "linkcheck p1": 2, "show ports": 1, "clear counters": 1,
		"explain --in p1 --dst 02:00:00:00:00:02": 1}
	all := make(chan ended, len(want))
	for args := range want {
		go func() {
			out, status := run(t, rootCommand(), append(strings.Fields(args), "-s", socket)...)
			all <- ended{args, out, status}
		}()
	}
	limit := time.After(6 * watch.Timeout)
	for range len(want) {
		select {
		case e := <-all:
			assert.True(t, e.status == want[e.args] && (e.status != 1 ||
				strings.Contains(e.out, "is stopped or hangs")),
				"%s: status %d, want %d, and that the switch is stopped: %s", e.args, e.status, want[e.args], e.out)
			delete(want, e.args)
		case <-limit:
			t.Fatalf("these wait: %v", want)
		}
	}
}
