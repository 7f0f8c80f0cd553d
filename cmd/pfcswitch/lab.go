package main

import (
	"syscall"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/topology"
)

func labCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab up FILE | down FILE",
		Short: "network namespaces, links and switches of a topology file",
		Long: "A lab is what a file describes: switches and hosts, each in a network namespace of its own, and the " +
			"links between\n" +
			"them. It stays until it is taken down. Root and ordinary users may have labs; those of a user are in " +
			"user namespaces.",
		Example: "  pfcswitch lab up scripts/lab/incast.yaml\n" +
			"  pfcswitch lab exec incast h1 pfcswitch send eth0 --seconds 1\n" +
			"  pfcswitch lab down incast",
	}
	c.AddCommand(labUpCommand(), labDownCommand(), labExecCommand(), labHoldCommand())
	return c
}

func labUpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up FILE",
		Short: "bring a lab up: all of it or, on an error, nothing",
		Long: "Returns when every switch forwards, and tells how to get into each node and which sockets the " +
			"switches have.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return topology.Up(ctx, args[0], []string{"lab", "hold"}, cmd.OutOrStdout())
		},
	}
}

func labDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down FILE",
		Short: "take a lab down, by its file or its name",
		Long:  "Removes all of it, also where processes of it were killed.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return topology.Down(ctx, args[0], cmd.OutOrStdout())
		},
	}
}

func labExecCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "exec FILE NODE PROGRAM [ARGUMENT]...",
		Short: "run a program inside a node of a lab",
		Long:  "FILE is the lab's file or its name. Needs nsenter.",
		Args:  cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			return topology.Exec(args[0], args[1], args[2:])
		},
	}
	c.Flags().SetInterspersed(false) // flags behind the program are its own
	return c
}

// labHoldCommand is the process that keeps a lab.
func labHoldCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hold FILE",
		Short:  "keep a lab (started by lab up)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context(), syscall.SIGHUP)
			defer stop()
			return topology.Hold(ctx, args[0])
		},
	}
}
