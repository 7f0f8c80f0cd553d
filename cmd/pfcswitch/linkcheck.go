package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/linkcheck"
	"pfcswitch/cmd/internal/watch"
)

type linkcheckFlags struct {
	linkcheck.Options
	socket          string
	answer          bool
	json            bool
	headroom        bool // prove the headroom instead
	xoffs, priority int  // of headroom
}

func linkcheckCommand() *cobra.Command {
	o := linkcheckFlags{Options: linkcheck.DefaultOptions()}
	c := &cobra.Command{
		Use:   "linkcheck [PORT]",
		Short: "find out what passes a link: PFC, tags, long frames, checksums, and how fast",
		Long: `Asks the other end of a port's link, or of an interface's, what arrives there and sends it back: MAC
Control frames as PAUSE and PFC are, in each direction; the 802.1Q tag; the longest frame; a checksum that is left
to the link; the round trip. A switch, a host NIC (pfcswitch nic) and linkcheck --answer do answer, no more than
they are sent and at a bounded rate.

With --headroom the peer fills the link with frames of a lossless priority, is told to stop, and what still comes is
counted, again and again: it must fit the headroom in force. Frames of that priority are held meanwhile, some
milliseconds each time, and none is lost. The peer has to allow it: headroom: {send_request: on}.

Exit status 0: all passes, it fits; 1: something does not; 2: nobody answers, or it could not be asked.`,
		Example: "  pfcswitch linkcheck p1\n  pfcswitch linkcheck --headroom p1 --xoffs 1000\n" +
			"  pfcswitch linkcheck --interface eth1 -j\n" +
			"  pfcswitch linkcheck --answer --interface eth1        # the other end, where no switch runs",
		Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, args []string) error {
			if o.headroom {
				return o.proveHeadroom(cmd, args)
			}
			report, err := o.run(cmd.Context(), args)
			if err != nil {
				return notRun("", err)
			}
			if report == nil {
				return nil
			}
			if err := printReply(cmd.OutOrStdout(), o.json, report); err != nil {
				return err
			}
			switch {
			case report.Peer == nil:
				return exit{couldNotRun}
			case !report.Pass:
				return exit{1}
			}
			return nil
		}),
	}
	f := c.Flags()
	socketFlag(c, &o.socket)
	c.ValidArgsFunction = forOneArgument(offerPorts(&o.socket))
	f.StringVar(&o.Interface, "interface", "", "interface to check, instead of a port of a switch")
	f.StringVar(&o.Netns, "netns", "", "its network namespace: a name, a path or pid:N")
	f.BoolVar(&o.answer, "answer", false, "answer the other end until Ctrl-C, instead of asking it")
	f.IntVar(&o.Count, "count", o.Count, "round trips to measure")
	f.DurationVar(&o.Patience, "patience", o.Patience, "how long to wait for an answer")
	f.Uint16Var(&o.VLAN, "vlan", 0, "`VLAN` of the tag that is tried (default: a priority tag)")
	jsonFlag(c, &o.json)
	f.BoolVar(&o.headroom, "headroom", false, "prove the port's headroom in force by experiment")
	f.IntVar(&o.xoffs, "xoffs", api.DefaultXoffs, "with --headroom: how often the peer is told to stop")
	f.IntVar(&o.priority, "priority", -1, "with --headroom: the priority (default: the lowest lossless one)")
	return c
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

// proveHeadroom checks the headroom of a port of a running switch and prints the result. Exit status: 0: the headroom
// suffices, 1: it does not, 2: the check could not run, or the link was not full.
func (o *linkcheckFlags) proveHeadroom(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("linkcheck --headroom: name the port of a switch")
	}
	result, err := o.askHeadroom(cmd.Context(), args[0])
	if err != nil {
		return notRun("the headroom could not be checked: ", err)
	}
	if err := printReply(cmd.OutOrStdout(), o.json, result); err != nil {
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

func (o *linkcheckFlags) askHeadroom(ctx context.Context, port string) (*api.HeadroomCheck, error) {
	ask := api.HeadroomCheckRequest{Port: port, Xoffs: o.xoffs}
	if o.xoffs < 1 {
		return nil, fmt.Errorf("--xoffs %d: it has to be 1 or more", o.xoffs)
	}
	if o.priority >= 0 {
		ask.Priority = &o.priority
	}
	path, err := api.Find(o.socket)
	if err != nil {
		return nil, err
	}
	return api.NewClient(path).CheckHeadroom(ctx, ask)
}
