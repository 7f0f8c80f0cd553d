package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"pfcswitch/dataplane/assert"
)

// fail runs a command quietly and returns what it says; it has to fail.
func fail(t *testing.T, c *cobra.Command, args ...string) string {
	t.Helper()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(io.Discard)
	c.SetArgs(args)
	err := c.Execute()
	assert.MustBeTrue(t, err != nil, "%s %s succeeds", c.Name(), strings.Join(args, " "))
	return err.Error()
}

const noInterface = "no-such-eth0"

// The help's examples get as far as the interface.
func TestExamplesOfEndpoints(t *testing.T) {
	for _, c := range []func() *cobra.Command{sendCommand, sinkCommand} {
		for example := range strings.Lines(c().Example) {
			args := strings.Fields(example)[2:]
			args[0] = noInterface
			got := fail(t, c(), args...)
			assert.True(t, strings.Contains(got, "does not exist"), "%s: %s", strings.Join(args, " "), got)
		}
	}
}

// wantRefused runs a command with each of the arguments and checks that the error has the text.
func wantRefused(t *testing.T, command func() *cobra.Command, texts map[string]string) {
	t.Helper()
	for args, want := range texts {
		assert.Contains(t, fail(t, command(), strings.Fields(args)...), want, "%s", args)
	}
}

// A command names the arguments that it lacks, or that are too many.
func TestArguments(t *testing.T) {
	wantRefused(t, rootCommand, map[string]string{
		"lab exec": "lab exec: missing FILE NODE PROGRAM: write pfcswitch lab exec FILE NODE PROGRAM " +
			"[ARGUMENT]...",
		"lab exec incast h1":          "lab exec: missing PROGRAM: write",
		"lab restart incast":          "lab restart: missing SWITCH: write pfcswitch lab restart FILE SWITCH",
		"lab up":                      "lab up: missing FILE: write pfcswitch lab up FILE",
		"lab down a b":                `lab down: "b" is one argument too many: write pfcswitch lab down FILE`,
		"clear":                       "clear: missing watermarks|counters: write pfcswitch clear watermarks|counters",
		"clear everything":            `clear: there is no "everything": write pfcswitch clear watermarks|counters`,
		"check":                       "check: missing FILE",
		"apply a b":                   `apply: "b" is one argument too many`,
		"linkcheck p1 p2":             `linkcheck: "p2" is one argument too many: write pfcswitch linkcheck [PORT]`,
		"explain x":                   `explain: "x" is one argument too many: write pfcswitch explain --in PORT --dst MAC`,
		"show ports p1":               `show ports: "p1" is one argument too many: write pfcswitch show ports`,
		"run --port x --metrics 9808": "--metrics 9808: is not an address",
		"run switch.yaml":             `run: "switch.yaml" is one argument too many: write pfcswitch run`,
		"send":                        "send: missing INTERFACE",
		"sink":                        "sink: missing INTERFACE",
	})
}

// A flag that is wrong is named in words of this program.
func TestFlags(t *testing.T) {
	wantRefused(t, rootCommand, map[string]string{
		"check --all f":            "check: there is no flag --all: write pfcswitch check --help to see the flags",
		"show ports -xj":           "show ports: there is no flag -x: write pfcswitch show ports --help",
		"run --port":               "run: --port needs a value: write --port INTERFACE",
		"run -c":                   "run: --config needs a value: write --config FILE",
		"send eth0 --seconds soon": "send: --seconds soon: write a number",
		"send eth0 --dscp 300":     "send: --dscp 300: write a whole number from 0 to 255",
		"show pfc --priority x":    "show pfc: --priority x: write whole numbers with commas between them",
		"show pfc --json=perhaps":  "show pfc: --json perhaps: write true or false",
		"sink e --block-for 5":     "sink: --block-for 5: write a time such as 500ms",
		"top --delay 1ms":          "top: --delay 1ms: write seconds, or a time such as 500ms, from 100ms to 24h",
		"version --=x":             "version: --=x is no flag: write pfcswitch version --help",
	})
}

// A command that was interrupted says so, in no words of the language.
func TestInterrupted(t *testing.T) {
	signalled, stop := signal.NotifyContext(t.Context(), syscall.SIGUSR1)
	defer stop()
	assert.Must(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	<-signalled.Done()
	_, dial := new(net.Dialer).DialContext(signalled, "unix", "/no/such.sock")
	for text, err := range map[string]error{
		"s1: interrupted before it was done":                      fmt.Errorf("s1: %w", context.Cause(signalled)),
		"dial unix /no/such.sock: interrupted before it was done": dial,
		"interrupted before it was done":                          context.Canceled,
		"sink: interrupted before it was done":                    fmt.Errorf("sink: %w", context.Canceled),
		"h1: interrupted before it was done\nh2 did not end": errors.Join(fmt.Errorf("h1: %w", context.Canceled),
			errors.New("h2 did not end")),
		"no sink": errors.New("no sink"),
	} {
		assert.Equal(t, complaint(err), text, "%v", err)
	}
}

// The help has no words of the parser, and each command stands below a heading.
func TestHelpIsPlain(t *testing.T) {
	root := rootCommand()
	addOwn(root)
	root.SetOut(io.Discard)
	for _, c := range root.Commands() {
		assert.True(t, c.GroupID != "", "%s stands below no heading of the help", c.Name())
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			assert.True(t, len(strings.TrimSpace(line)) <= 120, "%s: a line of its help is long: %s", c.CommandPath(),
				line)
		}
		usage := c.UsageString()
		for _, word := range []string{"(default ", "(default:)", "(default: -1)", "-1ns",
			"string", " uint", " int ", "duration  ", "float", "Generate", "Help about"} {
			assert.True(t, !strings.Contains(usage, word), "%s: its help says %q:\n%s", c.CommandPath(), word, usage)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// Impossible numbers are refused before anything runs.
func TestEndpointsRefuseNumbers(t *testing.T) {
	wantRefused(t, sendCommand, map[string]string{
		noInterface + " --seconds -1 --count 1":                     "--seconds -1",
		noInterface + " --seconds NaN":                              "--seconds NaN",
		noInterface + " --seconds 1e300":                            "--seconds 1e+300",
		noInterface + " --seconds 1 --dscp 200":                     "DSCP 200",
		noInterface + " --seconds 1 --vlan 5000":                    "VLAN 5000",
		noInterface + " --seconds 1 --cc reno":                      `--cc "reno" is no congestion control`,
		noInterface + " --seconds 1 --flow 3:cc=reno":               `"reno" is no congestion control`,
		noInterface + " --seconds 1 --cc dcqcn --speed none":        "DCQCN without a speed",
		noInterface + " --storm 8 --seconds 1":                      "--storm 8",
		noInterface + " --storm 3":                                  "--seconds",
		noInterface + " --storm 3 --seconds 1 --duty 0":             "duty of 0",
		noInterface + " --storm 3 --seconds 1 --flow-control pause": "--storm all",
		noInterface + " --storm 3 --seconds 1 --flow-control off":   "pfc or pause",
	})
	wantRefused(t, sinkCommand, map[string]string{
		noInterface + " --seconds -1":                                    "--seconds -1",
		noInterface + " --cc reno":                                       `--cc "reno" is no congestion control`,
		noInterface + " --expect -1":                                     "-1 expected senders",
		noInterface + " --read-rate -5":                                  "-5 frames a second",
		noInterface + " --from 2 --until 1":                              "not after",
		noInterface + " --block-for 1s":                                  "--block-at",
		noInterface + " --block-for -1s":                                 "-1s",
		noInterface + " --block-for 1s --block-every 1s --block-times 3": "the first has to be the shorter one",
		noInterface + " --block-for 1s --block-every 2s":                 "0 times",
		noInterface + " --block-for 1s --block-times 3":                  "3 times",
	})
}

// show alone is help, and so is a group of nouns.
func TestShowAloneIsHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"priority-group"}} {
		c := showCommand()
		c.SetOut(io.Discard)
		c.SetArgs(args)
		assert.NoError(t, c.Execute(), "show %v", args)
	}
}

// Flags of a noun stand before or behind it.
func TestShowFlags(t *testing.T) {
	const want = "no running switch found at /no/such.sock"
	wantRefused(t, showCommand, map[string]string{"-s /no/such.sock ports": want, "ports -s /no/such.sock -j": want,
		"-j -s /no/such.sock events --since 3": want})
}

// An impossible capture is refused before it begins.
func TestCaptureRefuses(t *testing.T) {
	wantRefused(t, captureCommand, map[string]string{
		"--seconds -1":       "--seconds -1",
		"--seconds NaN":      "--seconds NaN",
		"--last 1e300":       "--last 1e+300",
		"--filter 2,6,0,0,1": "number of its instructions",
		"-s /no/such.sock":   "no running switch found at /no/such.sock",
	})
}
