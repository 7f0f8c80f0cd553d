package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
)

func socketFlag(c *cobra.Command, socket *string) {
	c.Flags().StringVarP(socket, "socket", "s", "", "control socket of the switch (default: $"+api.SocketVariable+", else the one that runs)")
}

func showCommand() *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "show the state of a running switch", Example: "  pfcswitch show pfc\n  pfcswitch show buffer -j"}
	c.AddCommand(
		showNoun(&cobra.Command{Use: "ports", Short: "ports: link, speed, flow control, frames, drops"}),
		showNoun(&cobra.Command{Use: "pfc", Short: "who pauses whom: frames and time, in both directions"}),
		showNoun(&cobra.Command{Use: "buffer", Short: "pools, ingress queues with their thresholds and headroom, watermarks"}),
		showNoun(&cobra.Command{Use: "queues", Short: "egress queues, drops by reason"}),
		showNoun(&cobra.Command{Use: "fdb", Short: "the filtering database"}),
		showNoun(&cobra.Command{Use: "events", Short: "what a person should know, oldest first"}),
		showNoun(&cobra.Command{Use: "config", Short: "the configuration in force, every default written out"}),
	)
	return c
}

// showNoun completes the command that shows what it is named after.
func showNoun(c *cobra.Command) *cobra.Command {
	var socket string
	var asJSON bool
	var since uint64
	noun := c.Use
	c.Args = cobra.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := api.Find(socket)
		if err != nil {
			return err
		}
		b, err := api.NewClient(path).Raw(cmd.Context(), noun, since)
		if err != nil {
			return err
		}
		if asJSON {
			_, err = cmd.OutOrStdout().Write(b)
			return err
		}
		r, err := api.Parse(noun, b)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), r.Text())
		return err
	}
	socketFlag(c, &socket)
	c.Flags().BoolVarP(&asJSON, "json", "j", false, "print JSON")
	if noun == "events" {
		c.Flags().Uint64Var(&since, "since", 0, "first event to show, by sequence number")
	}
	return c
}

func clearCommand() *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use:       "clear watermarks|counters",
		Short:     "start this user's watermarks or counters again",
		Long:      "Starts the counters or watermarks that \"show\" prints again. The counters of /metrics never go back.",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"watermarks", "counters"},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			return api.NewClient(path).Clear(cmd.Context(), args[0])
		},
	}
	socketFlag(c, &socket)
	return c
}

func applyCommand() *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "change the configuration of a running switch",
		Long:  "Puts the file in force while the switch runs, all of it, and returns when it is. On an error the old configuration\nstays and the exit status is 1.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			yaml, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			warnings, err := api.NewClient(path).Apply(cmd.Context(), args[0], yaml)
			for _, w := range warnings {
				fmt.Fprintln(os.Stderr, "warning:", w)
			}
			return err
		},
	}
	socketFlag(c, &socket)
	return c
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "say what this program is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := api.ThisVersion()
			if asJSON {
				return printReport(cmd.OutOrStdout(), true, v, nil)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), v.Text())
			return err
		},
	}
	c.Flags().BoolVarP(&asJSON, "json", "j", false, "print JSON")
	return c
}
