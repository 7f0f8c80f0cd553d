package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/doctor"
	"pfcswitch/cmd/internal/watch"
)

func doctorCommand() *cobra.Command {
	var socket string
	var asJSON, detail bool
	c := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "find settings that cause loss, each with the command that mends it",
		Long: `Looks at the ports of the switch that runs (or of -s SOCKET), or of a configuration file, or, where
neither is there, at the interfaces of this network namespace: what they are, what is at the far end of each link,
and the machine. Changes nothing. Prints a line for each kind of finding, on a terminal red where frames are lost.
Exit status 0: nothing found, 1: there are findings, 2: it could not look.`,
		Example:           "  pfcswitch doctor\n  pfcswitch doctor switch.yaml\n  pfcswitch doctor -s leaf1 -j",
		Args:              checkArguments,
		ValidArgsFunction: forOneArgument(completeFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			facts, err := doctorFacts(cmd, socket, args)
			if err != nil {
				return notRun("", err)
			}
			report := doctor.Judge(facts)
			if err := printReport(cmd.OutOrStdout(), asJSON, report, func(w io.Writer) error {
				text := report.Text()
				if detail {
					text = report.Detail()
				}
				_, err := io.WriteString(w, inColour(w, reddened)(text))
				return err
			}); err != nil {
				return err
			}
			if !report.Healthy {
				return exit{1}
			}
			return nil
		},
	}
	socketFlag(c, &socket)
	jsonFlag(c, &asJSON)
	c.Flags().BoolVarP(&detail, "verbose", "v", false,
		"what each finding means, what was seen, and the command that mends it")
	return c
}

// doctorFacts gathers the facts of a file, of a switch or of this network namespace.
func doctorFacts(cmd *cobra.Command, socket string, args []string) (*doctor.Facts, error) {
	if len(args) == 1 {
		if socket != "" {
			return nil, errors.New("name a configuration file or a running switch (-s), not both")
		}
		return doctor.OfFile(args[0])
	}
	path, err := api.Find(socket)
	switch {
	case err == nil:
		ctx, cancel := context.WithTimeout(cmd.Context(), watch.Timeout)
		defer cancel()
		return doctor.OfSwitch(ctx, path)
	case socket == "" && errors.Is(err, api.ErrNoSwitch):
		return doctor.OfNamespace()
	}
	return nil, err
}
