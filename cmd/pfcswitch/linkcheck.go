package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/linkcheck"
	"pfcswitch/cmd/internal/watch"
)

// linkcheckFlags are the flags of linkcheck.
type linkcheckFlags struct {
	linkcheck.Options
	socket     string
	answer     bool
	json       bool
	byHeadroom bool
	headroom   headroomCheck
}

func linkcheckCommand() *cobra.Command {
	o := linkcheckFlags{Options: linkcheck.DefaultOptions()}
	c := &cobra.Command{
		Use:   "linkcheck PORT",
		Short: "find out what passes a link: PFC, tags, long frames, checksums, and how fast",
		Long: "Asks the other end of a port's link, or of an interface's, what arrives there and sends it back: MAC Control frames as PAUSE\n" +
			"and PFC are, in each direction; the 802.1Q tag; the longest frame; a checksum that is left to the link; the round trip. A switch,\n" +
			"a host NIC (pfcswitch nic) and linkcheck --answer do answer, no more than they are sent and at a bounded rate.\n\n" +
			"With --headroom the peer fills the link with frames of a lossless priority, is told to stop, and what still comes is counted,\n" +
			"again and again: it must fit the headroom in force. Frames of that priority are held meanwhile, some milliseconds each time,\n" +
			"and none is lost. The peer has to allow it: headroom: {send_request: on}.\n\n" +
			"Exit status 0: all passes, it fits; 1: something does not; 2: nobody answers, or it could not be asked.",
		Example: "  pfcswitch linkcheck p1\n" +
			"  pfcswitch linkcheck --headroom p1 --xoffs 1000\n" +
			"  pfcswitch linkcheck --interface eth1 -j\n" +
			"  pfcswitch linkcheck --answer --interface eth1        # the other end, where no switch runs",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.byHeadroom {
				return o.headroom.ofPort(cmd, o.socket, args, o.json)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			report, err := o.run(ctx, args)
			if err != nil {
				fmt.Fprintln(os.Stderr, "pfcswitch:", err)
				return exit{2}
			}
			if report == nil {
				return nil
			}
			if err := printReply(cmd.OutOrStdout(), o.json, report); err != nil {
				return err
			}
			return linkStatus(report)
		},
	}
	f := c.Flags()
	socketFlag(c, &o.socket)
	completePort(c, &o.socket)
	f.StringVar(&o.Interface, "interface", "", "interface to check, instead of a port of a switch")
	f.StringVar(&o.Netns, "netns", "", "its network namespace: a name, a path or pid:N")
	f.BoolVar(&o.answer, "answer", false, "answer the other end until Ctrl-C, instead of asking it")
	f.IntVar(&o.Count, "count", o.Count, "round trips to measure")
	f.DurationVar(&o.Patience, "patience", o.Patience, "how long to wait for an answer")
	f.Uint16Var(&o.VLAN, "vlan", 0, "VLAN of the tag that is tried (default: a priority tag)")
	f.BoolVarP(&o.json, "json", "j", false, "print JSON")
	f.BoolVar(&o.byHeadroom, "headroom", false, "prove the port's headroom in force by experiment")
	o.headroom.flags(c)
	return c
}

// linkStatus is the exit status of a report.
func linkStatus(r *api.LinkCheck) error {
	switch {
	case r.Peer == nil:
		return exit{2}
	case !r.Pass:
		return exit{1}
	}
	return nil
}

func (o *linkcheckFlags) run(ctx context.Context, args []string) (*api.LinkCheck, error) {
	switch {
	case (len(args) == 1) == (o.Interface != ""):
		return nil, errors.New("name a port of a switch, or an --interface")
	case o.answer && len(args) == 1:
		return nil, errors.New("a switch answers by itself: --answer is for an --interface")
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if len(args) == 1 {
		socket, err := api.Find(o.socket)
		if err != nil {
			return nil, err
		}
		asking, cancel := context.WithTimeout(ctx, watch.Timeout)
		defer cancel()
		if err := o.OfPort(asking, socket, args[0]); err != nil {
			return nil, err
		}
	}
	w, err := linkcheck.Open(o.Netns, o.Interface)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.Close() }()
	if o.answer {
		fmt.Fprintf(os.Stderr, "answering on %s since %s\n", o.Interface, time.Now().Format(time.TimeOnly))
		answered, refused := linkcheck.Answer(ctx, &o.Format, w)
		fmt.Fprintf(os.Stderr, "%d questions answered, %d came too fast\n", answered, refused)
		return nil, nil
	}
	report, err := linkcheck.Run(ctx, &o.Options, w, uint16(rand.Uint32()))
	if err == nil && len(args) == 1 {
		report.Port = &args[0]
	}
	return report, err
}
