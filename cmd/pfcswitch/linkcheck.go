package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
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
		Long: "Asks the other end of a port's link, or of an interface's, what arrives there and sends it back: MAC " +
			"Control frames as PAUSE\n" +
			"and PFC are, in each direction; the 802.1Q tag; the longest frame; a checksum that is left to the link; " +
			"the round trip. A switch,\n" +
			"a host NIC (pfcswitch nic) and linkcheck --answer do answer, no more than they are sent and at a " +
			"bounded rate.\n\n" +
			"With --headroom the peer fills the link with frames of a lossless priority, is told to stop, and what " +
			"still comes is counted,\n" +
			"again and again: it must fit the headroom in force. Frames of that priority are held meanwhile, some " +
			"milliseconds each time,\n" +
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
			ctx, stop := untilSignal(cmd.Context())
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

// A headroomCheck has the flags of linkcheck --headroom.
type headroomCheck struct {
	xoffs, priority int
}

// flags adds the flags of the check to a command.
func (h *headroomCheck) flags(c *cobra.Command) {
	c.Flags().IntVar(&h.xoffs, "xoffs", api.DefaultXoffs, "with --headroom: how often the peer is told to stop")
	c.Flags().IntVar(&h.priority, "priority", -1, "with --headroom: the priority (default: the lowest lossless one)")
}

// ofPort calls run where the only argument is a port.
func (h *headroomCheck) ofPort(cmd *cobra.Command, socket string, args []string, asJSON bool) error {
	if len(args) != 1 {
		return errors.New("linkcheck --headroom: name the port of a switch")
	}
	return h.run(cmd, socket, args[0], asJSON)
}

// run checks the headroom of a port of a running switch and prints the result. Exit status: 0: the headroom suffices,
// 1: it does not, 2: the check could not run, or the link was not full.
func (h *headroomCheck) run(cmd *cobra.Command, socket, port string, asJSON bool) error {
	result, err := h.ask(cmd.Context(), socket, port)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pfcswitch: the headroom could not be checked:", err)
		return exit{couldNotRun}
	}
	err = printReport(cmd.OutOrStdout(), asJSON, result, func(out io.Writer) error {
		_, err := fmt.Fprint(out, result.Text())
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case !result.Fits:
		return exit{1}
	case result.Inconclusive != nil:
		return exit{couldNotRun}
	}
	return nil
}

func (h *headroomCheck) ask(ctx context.Context, socket, port string) (*api.HeadroomCheck, error) {
	ask := api.HeadroomCheckRequest{Port: port, Xoffs: h.xoffs}
	if h.xoffs < 1 {
		return nil, fmt.Errorf("--xoffs %d: it has to be 1 or more", h.xoffs)
	}
	if h.priority >= 0 {
		ask.Priority = &h.priority
	}
	path, err := api.Find(socket)
	if err != nil {
		return nil, err
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	return api.NewClient(path).CheckHeadroom(ctx, ask)
}
