package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/lab"
)

type demoEntry struct {
	name string
	run  func(context.Context, demo.Options) (*demo.Report, error)

	seconds float64 // default of --seconds; 0: the flag's own default
}

// demos are all demos. Without a name the first one runs.
var demos = []demoEntry{
	{"incast", demo.Incast, 0},
	{"host", demo.Hosts, 0},
	{"headroom", demo.Links, 1},
	{"deadlock", demo.Deadlock, 0},
	{"trunk", demo.Trunk, 0},
	{"dcqcn", demo.DCQCN, 0},
}

func demoNames() (names []string) {
	for _, d := range demos {
		names = append(names, d.name)
	}
	return names
}

// demoNamed returns the demo that the arguments name.
func demoNamed(args []string) demoEntry {
	for _, d := range demos {
		if slices.Contains(args, d.name) {
			return d
		}
	}
	return demos[0]
}

func demoCommand() *cobra.Command {
	var seconds float64
	var speed, report string
	var asJSON, keep, quick bool
	c := &cobra.Command{
		Use:   "demo [incast|host|headroom|deadlock|trunk|dcqcn]",
		Short: "show on real links that nothing is lost",
		Long: "Builds a small network in namespaces of its own, with switches, senders and a receiver as " +
			"separate processes, and\njudges what arrives. It needs neither a file nor root. Exit status: 0 passed, " +
			"1 failed, 2 could not run.",
		Example: "  pfcswitch demo\n  pfcswitch demo incast --speed 500M --seconds 10\n  pfcswitch demo host\n  " +
			"pfcswitch demo headroom --quick\n  pfcswitch demo deadlock\n  pfcswitch demo trunk\n  " +
			"pfcswitch demo dcqcn",
		ValidArgs: demoNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := demoOptions(seconds, speed)
			if err != nil {
				return demoNotRun(err)
			}
			d := demoNamed(args)
			if o.NoSpeed && d.name != "incast" {
				return demoNotRun(fmt.Errorf("demo %s --speed none: its ports need a speed: write one, or leave it out",
					d.name))
			}
			status, inside, err := lab.Enter(os.Args[1:])
			if err != nil {
				return demoNotRun(err)
			}
			if !inside {
				return exit{status}
			}
			if keep {
				o.Enter = func(ctx context.Context, commands []string) {
					waitForUser(ctx, os.Stdin, os.Stderr, commands)
				}
			}
			if o.Quick = quick; d.seconds > 0 && !cmd.Flags().Changed("seconds") {
				o.Seconds = d.seconds
			}
			return untilSignal(func(cmd *cobra.Command, _ []string) error { return d.show(cmd, o, asJSON, report) },
				syscall.SIGHUP)(cmd, nil)
		},
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || cobra.OnlyValidArgs(cmd, args) != nil {
			return demoNotRun(fmt.Errorf("demo %s: there are %s", strings.Join(args, " "),
				strings.Join(demoNames(), ", ")))
		}
		return nil
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return demoNotRun(flagError(c, err)) })
	f := c.Flags()
	f.Float64Var(&seconds, "seconds", 5, "`seconds` of load in each phase; in demo headroom at least, and not in demo "+
		"deadlock")
	f.StringVar(&speed, "speed", "", "speed of the hosts' ports in bit/s, or none in demo incast; in demo trunk "+
		"the uplink's, and members have half of it;\nin demo headroom the links' (default: 100M and 1G there, else "+
		"the highest that the machine carries)")
	f.BoolVarP(&asJSON, "json", "j", false, "report as JSON")
	f.StringVar(&report, "report", "", "write a page with rates, pauses, buffers and headroom over time into this file")
	f.BoolVar(&quick, "quick", false, "headroom: four links in one run each (half a minute), not all of them "+
		"in five runs (three and a half minutes)")
	f.BoolVar(&keep, "keep", false, "leave the lab of one phase up, with its switches running, and print how "+
		"to enter it, until Enter is pressed")
	return c
}

// demoNotRun prints why the demo does not run and returns the exit status for it.
func demoNotRun(err error) error { return notRun("the demo could not run: ", err) }

func demoOptions(seconds float64, speed string) (o demo.Options, err error) {
	switch speed {
	case "":
	case "none":
		o.NoSpeed = true
	default:
		if o.Speed, err = config.ParseRate(speed); err != nil {
			return o, fmt.Errorf("--speed %s: %w", speed, err)
		}
	}
	if !(seconds >= 1 && seconds <= 3600) { // nor is NaN
		return o, fmt.Errorf("--seconds %v: it has to be from 1 to 3600", seconds)
	}
	o.Seconds = seconds
	return o, nil
}

// show runs the demo, prints its report and writes it as a page where that is wanted.
func (d *demoEntry) show(cmd *cobra.Command, o demo.Options, asJSON bool, page string) error {
	progress, end := progressOnTerminal()
	if o.Progress, o.Refresh = progress, time.Second; progress == nil {
		o.Progress, o.Refresh = func(text string) { fmt.Fprintln(os.Stderr, text) }, 0
	}
	if enter := o.Enter; enter != nil {
		o.Enter = func(ctx context.Context, commands []string) {
			end()
			enter(ctx, commands)
		}
	}
	if !asJSON {
		o.Results = func(text string) error {
			end()
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		}
	}
	r, err := withFile("--report", page, func(out io.Writer) (*demo.Report, error) {
		o.Record = out != nil
		r, err := d.run(cmd.Context(), o)
		if err == nil && out != nil {
			err = r.Page(out)
		}
		return r, err
	})
	end()
	if r == nil {
		return demoNotRun(err)
	}
	err = errors.Join(err, printReport(cmd.OutOrStdout(), asJSON, r, r.End))
	switch {
	case r.Failed():
		return exit{1}
	case err != nil:
		return demoNotRun(err)
	case !r.Pass:
		return exit{couldNotRun}
	}
	return nil
}

// waitForUser waits until the user presses Enter or an interrupt ends ctx. The end of the input, as in a script, does
// not count.
func waitForUser(ctx context.Context, in io.Reader, out io.Writer, commands []string) {
	fmt.Fprintln(out, "the lab stays up; enter its nodes, and ask its switches, with")
	for _, c := range commands {
		fmt.Fprintln(out, " ", c)
	}
	fmt.Fprintf(out, "press Enter, or interrupt process %d, to take it down\n", os.Getpid())
	pressed := make(chan struct{})
	go waitForEnter(in, pressed)
	select {
	case <-ctx.Done():
	case <-pressed:
	}
}

func waitForEnter(in io.Reader, pressed chan<- struct{}) {
	if _, err := bufio.NewReader(in).ReadString('\n'); err == nil {
		close(pressed)
	}
}
