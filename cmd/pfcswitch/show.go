package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
)

const socketUsage = "control socket of the switch, a path, or the name of one that runs here (default: $" + api.SocketVariable + ", else the one that runs)"

func socketFlag(c *cobra.Command, socket *string) {
	c.Flags().StringVarP(socket, "socket", "s", "", socketUsage)
}

// shown are the flags of show and its nouns.
type shown struct {
	socket string
	json   bool
}

func showCommand() *cobra.Command {
	var o shown
	c := &cobra.Command{
		Use:     "show",
		Short:   "show the state of a running switch",
		Example: "  pfcswitch show pfc\n  pfcswitch show buffer -j",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownNoun(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	c.AddCommand(
		showNoun(&o, &cobra.Command{Use: "ports", Short: "ports: link, speed, flow control, frames, drops"}),
		showNoun(&o, &cobra.Command{Use: "pfc", Short: "who pauses whom: frames and time, in both directions"}),
		showNoun(&o, &cobra.Command{Use: "buffer", Short: "pools, ingress queues with their thresholds and headroom, watermarks"}),
		showNoun(&o, &cobra.Command{Use: "headroom", Short: "headroom that links need by calculation and measurement, in force, really used"}),
		showNoun(&o, &cobra.Command{Use: "queues", Short: "egress queues, drops by reason"}),
		showNoun(&o, &cobra.Command{Use: "trunk", Short: "trunks: members and uplink, meters and colours, who is held"}),
		showNoun(&o, &cobra.Command{Use: "watchdog", Short: "deadlocks: how each queue is watched, storms detected and restored"}),
		showNoun(&o, &cobra.Command{Use: "fdb", Short: "the filtering database"}),
		showNoun(&o, &cobra.Command{Use: "lldp", Short: "neighbors, and what DCBX has agreed with them"}),
		showNoun(&o, &cobra.Command{Use: "events", Short: "what a person should know, oldest first"}),
		showNoun(&o, &cobra.Command{Use: "config", Short: "the configuration in force, every default written out"}),
	)
	c.PersistentFlags().StringVarP(&o.socket, "socket", "s", "", socketUsage)
	c.PersistentFlags().BoolVarP(&o.json, "json", "j", false, "print JSON")
	return c
}

// unknownNoun says what can be shown.
func unknownNoun(show *cobra.Command, noun string) error {
	var nouns []string
	for _, c := range show.Commands() {
		if c.IsAvailableCommand() {
			nouns = append(nouns, c.Name())
		}
	}
	return fmt.Errorf("show %s: there is no such thing to show: there are %s", noun, strings.Join(nouns, ", "))
}

// showNoun completes the command that shows what it is named after.
func showNoun(o *shown, c *cobra.Command) *cobra.Command {
	var since uint64
	noun := c.Use
	c.Args = cobra.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := api.Find(o.socket)
		if err != nil {
			return err
		}
		b, err := api.NewClient(path).Raw(cmd.Context(), noun, since)
		if err != nil {
			return err
		}
		if o.json {
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
			yaml, err := config.ReadFile(args[0])
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
