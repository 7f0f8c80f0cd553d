package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func linkcheckCommand() *cobra.Command {
	var socket string
	var asJSON, byExperiment bool
	var h headroomCheck
	c := &cobra.Command{
		Use:   "linkcheck --headroom PORT",
		Short: "check a port's headroom by experiment",
		Long: "Has the peer fill the link with frames of a lossless priority, tells it to stop, counts what still comes, and does so\n" +
			"again and again: it must fit the headroom in force. Frames of that priority are held meanwhile, some milliseconds each\n" +
			"time, and none is lost. The peer has to allow it: headroom: {send_request: on}.\n" +
			"Exit status: 0 it fits, 1 it does not, 2 it could not be checked.",
		Example: "  pfcswitch linkcheck --headroom p1\n  pfcswitch linkcheck --headroom p1 --xoffs 1000 -j",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !byExperiment {
				return errors.New("say what is to be checked: --headroom")
			}
			return h.run(cmd, socket, args[0], asJSON)
		},
	}
	c.Flags().BoolVar(&byExperiment, "headroom", false, "check the headroom in force by experiment")
	c.Flags().BoolVarP(&asJSON, "json", "j", false, "print JSON")
	h.flags(c)
	socketFlag(c, &socket)
	return c
}
