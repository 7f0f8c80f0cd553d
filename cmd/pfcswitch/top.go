package main

import (
	"errors"
	"os"
	"os/signal"
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
		Long: "Shows the whole switch on one screen, once a second. Keys: s sort, arrows choose a port, Enter shows only it, h help, q quit.\n" +
			"A switch that ends is waited for. NO_COLOR=1 does without colours.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !terminal(os.Stdin) || !terminal(os.Stdout) {
				return errors.New("top needs a terminal: for a pipe there is pfcswitch show pfc --watch")
			}
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return top.Run(ctx, top.Switch{Client: api.NewClient(path)}, path, time.Duration(delay))
		},
	}
	socketFlag(c, &socket)
	c.Flags().VarP(&delay, "delay", "d", "time between two looks: seconds, or such as 500ms (default 1s)")
	return c
}
