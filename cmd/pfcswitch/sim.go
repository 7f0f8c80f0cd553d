package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/paper"
	"pfcswitch/cmd/internal/sidebyside"
	"pfcswitch/cmd/internal/simulation"
)

func simCommand() *cobra.Command {
	var asJSON bool
	var svg, pcap string
	workers := runtime.GOMAXPROCS(0)
	o := simulation.Options{Workers: workers, Together: sidebyside.On(workers)}
	c := &cobra.Command{
		Use:   "sim FILE",
		Short: "the switches of a topology file in virtual time",
		Long: "Runs the topology file of pfcswitch lab, with the load of its traffic section, in virtual time: the " +
			"same switch, with\nlinks and hosts that are calculated. It needs no root and no network. The same file " +
			"and seed give the same report.\nExit status: 0 passed, 1 failed, 2 could not run.",
		Example: "  pfcswitch sim scripts/lab/incast.yaml",
	}
	c.RunE = untilSignal(func(cmd *cobra.Command, args []string) error {
		return judged(cmd, asJSON, func(progress func(string)) (*simulation.Report, error) {
			if o.Stall < 0 {
				return nil, fmt.Errorf("--stall %v: it has to be more than 0", o.Stall)
			}
			if o.Response < 0 && cmd.Flags().Changed("response") {
				return nil, fmt.Errorf("--response %v: it has to be 0 or more", o.Response)
			}
			o.Progress = progress
			o.Warn = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), "pfcswitch: "+text) }
			return simulate(cmd, args[0], svg, pcap, o)
		})
	})
	jsonFlag(c, &asJSON)
	f := c.Flags()
	f.StringVar(&svg, "svg", "", "draw throughput, buffers and pauses over time into this file")
	f.StringVar(&pcap, "pcap", "", "write the frames of each switch into this folder, as SWITCH.pcapng")
	f.BoolVar(&o.LLDP, "lldp", false, "have the switches speak LLDP and DCBX with each other before the flows begin, "+
		"and follow what comes of it")
	f.Uint64Var(&o.Seed, "seed", 1, "what random numbers begin with: the moments at which flows begin, marks and "+
		"early discards of switches")
	f.DurationVar(&o.Stall, "stall", 0, "end after this virtual time without a frame that moves (default: twice the "+
		"longest pause of the slowest link)")
	f.DurationVar(&o.Response, "response", -time.Nanosecond, "how long hosts go on beginning frames after PFC or "+
		"PAUSE came (default: the limit of IEEE 802.3)")
	c.AddCommand(paperCommand())
	return notRunOnUsage(c)
}

func paperCommand() *cobra.Command {
	var asJSON bool
	var svg string
	o := paper.Options{}
	var names []string
	for i := range paper.Studies {
		names = append(names, paper.Studies[i].Name)
	}
	c := &cobra.Command{
		Use:   "paper [" + strings.Join(names, "|") + "]",
		Short: "what others have published, again, with its figures beside theirs",
		Long: "Does a published study again in virtual time, and prints a table of its figures beside the published " +
			"ones. Without a\nname it lists the studies. Exit status: 0 done, 2 could not run.",
		Example:   "  pfcswitch sim paper dt --svg dt.svg",
		ValidArgs: names,
	}
	c.RunE = untilSignal(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return paper.List(cmd.OutOrStdout())
		}
		if o.Links < 0 {
			return notRun("", fmt.Errorf("--links %d: it has to be 0 or more", o.Links))
		}
		study, err := paper.Find(args[0])
		if err == nil && cmd.Flags().Changed("links") && !study.DrawsLinks() {
			err = fmt.Errorf("--links %d: %s draws none: remove the flag", o.Links, study.Name)
		}
		if err != nil {
			return notRun("", err)
		}
		progress, end := progressOnTerminal()
		o.Progress = progress
		r, err := withFile("--svg", svg, func(picture io.Writer) (*paper.Result, error) {
			r, err := study.Run(cmd.Context(), o)
			if err == nil && picture != nil {
				err = r.Picture(picture)
			}
			return r, err
		})
		end()
		if err == nil {
			err = printReport(cmd.OutOrStdout(), asJSON, r, r.Text)
		}
		if err != nil {
			return notRun("", err)
		}
		return nil
	})
	jsonFlag(c, &asJSON)
	c.Flags().StringVar(&svg, "svg", "", "draw the study into this file")
	c.Flags().IntVar(&o.Links, "links", 0, "how many links the study measured draws (default: 100)")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "what random numbers begin with")
	return notRunOnUsage(c)
}

// notRunOnUsage gives a wrong command line the exit status of what could not run.
func notRunOnUsage(c *cobra.Command) *cobra.Command {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := checkArguments(cmd, args); err != nil {
			return notRun("", err)
		}
		return nil
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return notRun("", flagError(c, err)) })
	return c
}

// progressOnTerminal returns what shows how far a run is, and takes that away; nil where there is no terminal.
func progressOnTerminal() (progress func(string), end func()) {
	if !terminal(os.Stderr) {
		return nil, func() {}
	}
	progress = func(text string) {
		columns, _ := terminalSize(os.Stderr)
		fmt.Fprint(os.Stderr, inPlace(text, columns))
	}
	return progress, func() { progress("") }
}

// inPlace writes a text over the line before. The rest of a text that is too long for a line would stay for good.
func inPlace(text string, columns int) string {
	letters := []rune(text)
	return "\r\x1b[K" + string(letters[:min(len(letters), columns-1)])
}

// judged prints the report of a run, with its progress on a terminal, and returns the exit status.
func judged(cmd *cobra.Command, asJSON bool, run func(progress func(string)) (*simulation.Report, error)) error {
	progress, end := progressOnTerminal()
	r, err := run(progress)
	end()
	if err == nil {
		err = printReport(cmd.OutOrStdout(), asJSON, r, r.Text)
	}
	switch {
	case err != nil:
		return notRun("", err)
	case !r.Pass:
		return exit{1}
	}
	return nil
}

// simulate runs a file and writes a picture and captures where they are wanted.
func simulate(cmd *cobra.Command, file, svg, pcap string, o simulation.Options) (r *simulation.Report, err error) {
	if pcap != "" {
		if err := os.MkdirAll(pcap, 0o777); err != nil {
			return nil, fmt.Errorf("--pcap: %w", err)
		}
		o.Capture = func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(pcap, name+".pcapng")) }
	}
	return withFile("--svg", svg, func(picture io.Writer) (*simulation.Report, error) {
		o.SVG = picture
		return simulation.Run(cmd.Context(), file, o)
	})
}

// withFile writes the file that a flag names, if one is wanted, with what a run has written. Where it has written
// nothing, the file is as before.
func withFile[Report any](flag, path string, run func(io.Writer) (*Report, error)) (r *Report, err error) {
	if path == "" {
		return run(nil)
	}
	_, before := os.Stat(path)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666) // before the run: it may last for long
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	var text bytes.Buffer
	switch r, err = run(&text); {
	case text.Len() > 0:
		err = errors.Join(err, os.WriteFile(path, text.Bytes(), 0o666))
	case errors.Is(before, os.ErrNotExist):
		err = errors.Join(err, os.Remove(path))
	}
	return r, err
}
