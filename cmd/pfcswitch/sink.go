package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/traffic"
)

func sinkCommand() *cobra.Command {
	var e endpoint
	var from, until, block int64
	var sc traffic.SinkConfig
	c := &cobra.Command{
		Use:     "sink INTERFACE",
		Short:   "receive test traffic, and report loss, order and latency",
		Long:    "Receives what pfcswitch send sends and holds its peer by PFC or PAUSE when it falls behind itself. It ends when the\nexpected senders have settled their totals, after --seconds, or by a signal.",
		Example: "  pfcswitch sink eth0 --expect 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if sc.Speed, sc.Lossless, err = e.parse(); err != nil {
				return err
			}
			sc.Interface, sc.Netns, sc.FlowControl = args[0], e.netns, e.flowControl
			if sc.Duration, err = e.duration(); err != nil {
				return err
			}
			if from != 0 {
				sc.From = time.Unix(0, from)
			}
			if until != 0 {
				sc.Until = time.Unix(0, until)
			}
			if block != 0 {
				sc.Block.At = time.Unix(0, block)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, err := traffic.RunSink(ctx, sc)
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), e.json, r, r.Text)
		},
	}
	e.flags(c)
	f := c.Flags()
	f.IntVar(&sc.Expect, "expect", 0, "end when so many senders have settled")
	f.Int64Var(&from, "from", 0, "rates are measured from here, nanoseconds since 1970")
	f.Int64Var(&until, "until", 0, "rates are measured up to here, nanoseconds since 1970")
	f.IntVar(&sc.Slots, "slots", 0, "equal parts of the time between --from and --until, which are counted each too")
	f.Int64Var(&block, "block-at", 0, "hold the peer from here on, nanoseconds since 1970, for --block-for")
	f.DurationVar(&sc.Block.For, "block-for", 0, "how long the peer is held, as by a receiver that hangs")
	f.DurationVar(&sc.Block.Every, "block-every", 0, "hold it again and again, so long after each beginning (0: once)")
	f.IntVar(&sc.Block.Times, "block-times", 0, "how often, with --block-every")
	f.Int64Var(&sc.ReadRate, "read-rate", 0, "frames a second that are read at most (0: no limit)")
	return c
}
