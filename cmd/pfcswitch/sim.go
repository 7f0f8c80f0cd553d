package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/simulation"
)

func simCommand() *cobra.Command {
	var asJSON bool
	o := simulation.Options{}
	c := &cobra.Command{
		Use:   "sim FILE",
		Short: "the switches of a topology file in virtual time",
		Long: "Runs the topology file of pfcswitch lab, with the load of its traffic section, in virtual time: the " +
			"same switch, with\nlinks and hosts that are calculated. It needs no root and no network. The same file " +
			"and seed give the same report.\nExit status: 0 passed, 1 failed, 2 could not run.",
		Example: "  pfcswitch sim scripts/lab/incast.yaml",
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := checkArguments(cmd, args); err != nil {
			return simNotRun(err)
		}
		return nil
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return simNotRun(err) })
	c.RunE = untilSignal(func(cmd *cobra.Command, args []string) error {
		if o.Stall < 0 {
			return simNotRun(fmt.Errorf("--stall %v: it has to be more than 0", o.Stall))
		}
		if terminal(os.Stderr) {
			o.Progress = func(text string) { fmt.Fprintf(os.Stderr, "\r\x1b[K%s", text) }
		}
		r, err := simulation.Run(cmd.Context(), args[0], o)
		if o.Progress != nil {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
		if err != nil {
			return simNotRun(err)
		}
		if err := printReport(cmd.OutOrStdout(), asJSON, r, r.Text); err != nil {
			return simNotRun(err)
		}
		if !r.Pass {
			return exit{1}
		}
		return nil
	})
	jsonFlag(c, &asJSON)
	f := c.Flags()
	f.Uint64Var(&o.Seed, "seed", 1, "what random numbers begin with: the moments at which flows begin, marks and "+
		"early discards of switches")
	f.DurationVar(&o.Stall, "stall", 0, "end after this virtual time without a frame that moves (default: twice the "+
		"longest pause of the slowest link)")
	f.DurationVar(&o.Response, "response", -time.Nanosecond, "how long hosts go on beginning frames after PFC or "+
		"PAUSE came (default: the limit of IEEE 802.3)")
	return c
}

// simNotRun prints why there is no simulation and returns the exit status for it.
func simNotRun(err error) error { return notRun("", err) }
