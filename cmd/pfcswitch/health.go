package main

import (
	"context"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/watch"
)

func healthCommand() *cobra.Command {
	var socket string
	var asJSON, live bool
	c := &cobra.Command{
		Use:   "health",
		Short: "whether a running switch answers and all its ports are in service",
		Long: `Exit status 0 where every port is in service, else 1, with what it waits for; with --live 0 wherever
the switch answers. Made for the health checks of containers.`,
		Args: checkArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), watch.Timeout)
			defer cancel()
			r, err := api.NewClient(path).Show(ctx, "health")
			if err != nil {
				return err
			}
			h := r.(*api.Health)
			if err := printReply(cmd.OutOrStdout(), asJSON, h); err != nil {
				return err
			}
			if !h.Ready && !live {
				return exit{1}
			}
			return nil
		},
	}
	socketFlag(c, &socket)
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&live, "live", false, "0 wherever the switch answers")
	return c
}
