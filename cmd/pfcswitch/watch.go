package main

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/top"
)

func topCommand() *cobra.Command {
	var socket string
	delay := intervalValue(time.Second)
	c := &cobra.Command{
		Use:   "top",
		Short: "watch a switch live: rates, who pauses whom, buffers, storms, drops, events",
		Long: `Shows the whole switch on one screen, once a second. Keys: s sort, arrows choose a port, Enter shows
only it, h help, q quit. A switch that ends is waited for. NO_COLOR=1 does without colours.`,
		Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, _ []string) error {
			if !terminal(os.Stdin) || !terminal(os.Stdout) {
				return errors.New("top needs a terminal: for a pipe there is pfcswitch show pfc --watch")
			}
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			return top.Run(cmd.Context(), top.Switch{Client: api.NewClient(path)}, path, time.Duration(delay))
		}, syscall.SIGHUP),
	}
	socketFlag(c, &socket)
	c.Flags().VarP(&delay, "delay", "d", "time between two looks: seconds, or such as 500ms (default: 1s)")
	return c
}

func eventsCommand() *cobra.Command {
	var socket string
	var since uint64
	c := &cobra.Command{
		Use:   "events",
		Short: "follow what happens, for scripts: JSON lines that begin with the state",
		Long: `Prints the state of the switch and then every event as it comes, one JSON document a line, until
Ctrl-C. The type of a line is state, event or end. An event that comes again, with a higher count, has the same
sequence number; where numbers leave a gap, events were forgotten before this command came to them. Exit status 1
where the switch ends, or cuts off a reader that is too slow: the last line, or standard error, says why.`,
		Example: "  pfcswitch events | jq -c 'select(.type == \"event\") | .event'\n  pfcswitch events --since 0",
		Args:    checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, _ []string) error {
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			var from *uint64
			if cmd.Flags().Changed("since") {
				from = &since
			}
			out := cmd.OutOrStdout()
			return api.NewClient(path).Follow(cmd.Context(), from, func(raw []byte, _ *api.Line) error {
				_, err := out.Write(raw)
				return err
			})
		}),
	}
	socketFlag(c, &socket)
	acceptJSON(c)
	c.Flags().Uint64Var(&since, "since", 0, "first event, by sequence number, of those that are kept (default: "+
		"new ones)")
	return c
}

// acceptJSON adds -j to a command that prints only JSON, so that scripts can use -j with every command that reads.
func acceptJSON(c *cobra.Command) {
	c.Flags().BoolP("json", "j", false, "print JSON, which it does anyway")
}
