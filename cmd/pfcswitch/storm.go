package main

import (
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/traffic"
)

// stormFlags make send a broken host, which pauses its peer without end.
type stormFlags struct {
	priority string
	duty     int
}

func (o *stormFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.priority, "storm", "", "send no data, but XOFF for a priority (--flow-control pause: all), for --seconds")
	c.Flags().IntVar(&o.duty, "duty", 100, "share of the time for which a storm pauses the peer, in percent; the peer counts at the speed of its port, which --speed has to be")
}

// run is the storm.
func (o *stormFlags) run(cmd *cobra.Command, e *endpoint, name string, start int64) error {
	speed, _, err := e.parse()
	if err != nil {
		return err
	}
	c := traffic.StormConfig{Interface: name, Netns: e.netns, Speed: speed, FlowControl: e.flowControl, Duty: o.duty}
	if c.Priority, err = o.parsePriority(e.flowControl); err != nil {
		return err
	}
	if c.Duration, err = e.duration(); err != nil {
		return err
	}
	if c.Duration == 0 {
		return errors.New("--storm: say with --seconds how long")
	}
	if start != 0 {
		c.Start = time.Unix(0, start)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := traffic.RunStorm(ctx, c)
	if err != nil {
		return err
	}
	return printReport(cmd.OutOrStdout(), e.json, r, r.Text)
}

func (o *stormFlags) parsePriority(flowControl string) (uint8, error) {
	if flowControl == "pause" {
		if o.priority != "all" {
			return 0, fmt.Errorf("--storm %s: a PAUSE holds all priorities: write --storm all", o.priority)
		}
		return 0, nil
	}
	p, err := strconv.ParseUint(o.priority, 10, 3)
	if err != nil {
		return 0, fmt.Errorf("--storm %s: name a priority, 0 to 7", o.priority)
	}
	return uint8(p), nil
}
