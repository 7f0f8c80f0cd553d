package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
)

// endpoint has the flags that sender and sink share.
type endpoint struct {
	netns, speed, flowControl string
	lossless                  []uint
	seconds                   float64
	json                      bool
}

func (e *endpoint) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&e.netns, "netns", "", "network namespace of the interface: name, path or pid:N")
	f.StringVar(&e.speed, "speed", "1G", "speed of the port in bit/s, or none")
	f.StringVar(&e.flowControl, "flow-control", "pfc", "pfc, pause or off")
	f.UintSliceVar(&e.lossless, "lossless", []uint{3}, "`priorities` under PFC")
	f.Float64Var(&e.seconds, "seconds", 0, "how long, in `seconds`")
	f.BoolVarP(&e.json, "json", "j", false, "report as JSON")
}

// instant is a flag with a time in nanoseconds since 1970; 0: none.
type instant time.Time

func (i *instant) String() string { return "" }

// Set implements pflag.Value.
func (i *instant) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 64)
	if *i = (instant{}); n != 0 {
		*i = instant(time.Unix(0, n))
	}
	return err
}

// Type implements pflag.Value.
func (i *instant) Type() string { return "int" }

// maxSeconds is the longest run of an endpoint: a year.
const maxSeconds = 365 * 24 * 3600

func (e *endpoint) duration() (time.Duration, error) {
	if !(e.seconds >= 0 && e.seconds <= maxSeconds) { // nor is NaN
		return 0, fmt.Errorf("--seconds %v: it has to be from 0 to %d", e.seconds, maxSeconds)
	}
	return time.Duration(e.seconds * float64(time.Second)), nil
}

func (e *endpoint) parse() (speed int64, lossless uint8, err error) {
	if e.speed != "none" {
		if speed, err = config.ParseRate(e.speed); err != nil {
			return 0, 0, fmt.Errorf("--speed %s: %w", e.speed, err)
		}
	}
	for _, p := range e.lossless {
		if p > 7 {
			return 0, 0, fmt.Errorf("--lossless %d: priorities are 0 to 7", p)
		}
		lossless |= 1 << p
	}
	if e.flowControl != "pfc" && e.flowControl != "pause" && e.flowControl != "off" {
		return 0, 0, fmt.Errorf("--flow-control %s: it is pfc, pause or off", e.flowControl)
	}
	return speed, lossless, nil
}

func sendCommand() *cobra.Command {
	var e endpoint
	var flows []string
	var to, cc string
	var sc traffic.SendConfig
	var storm stormFlags
	var shape shapeFlags
	c := &cobra.Command{
		Use:   "send INTERFACE",
		Short: "send test traffic as a host that obeys PFC and PAUSE",
		Long: `Sends to the sink that answers its call (pfcswitch sink), with one queue per priority in front of the
port's speed, and exchanges totals with it at the end. A flow is PRIORITY[:key=value]..., with the keys octets (1514,
with the tag, without FCS), rate (bit/s on the wire; default: as much as goes), count (of frames in all), weight (1),
to (address of its sink), window (frames on their way without an acknowledgement), after and for (its time since the
load began, such as 100ms), cc (dcqcn); every=N,large=OCTETS makes each N-th frame of another length; on=TIME,off=TIME
sends in bursts; arrivals=poisson makes the frames of a rate come at random. Flows of one priority take turns. DCQCN
slows a flow down as the CNPs of its sink say (pfcswitch sink --cc dcqcn). Without --seconds and --count the load ends
when all flows have ended.`,
		Example: "  pfcswitch send eth0 --speed 1G --flow 3 --flow 0:octets=128,rate=10M --seconds 10\n  pfcswitch " +
			"send eth0 --storm 3 --duty 100 --seconds 5",
		Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, args []string) error {
			if err := shape.start(cmd, &sc.Start); err != nil {
				return err
			}
			if storm.priority != "" && shape.pcap == "" {
				return storm.run(cmd, &e, args[0], sc.Start)
			}
			var err error
			if sc.Speed, sc.Lossless, err = e.parse(); err != nil {
				return err
			}
			if sc.Flows, err = parseFlows(flows); err != nil {
				return err
			}
			all, err := parseControl(cc)
			if err != nil {
				return fmt.Errorf("--cc %w", err)
			}
			for i := range sc.Flows {
				sc.Flows[i].DCQCN = sc.Flows[i].DCQCN || all
			}
			if sc.Destination, err = traffic.ParseMAC(to); err != nil {
				return fmt.Errorf("--to %w", err)
			}
			sc.Interface, sc.Netns, sc.FlowControl = args[0], e.netns, e.flowControl
			if sc.Duration, err = e.duration(); err != nil {
				return err
			}
			if err := shape.replay(cmd, &sc); err != nil {
				return err
			}
			sc.Waiting = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
			r, err := traffic.RunSend(cmd.Context(), sc)
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), e.json, r, r.Text)
		}),
	}
	e.flags(c)
	storm.flags(c)
	shape.flags(c)
	f := c.Flags()
	f.StringArrayVar(&flows, "flow", []string{"3"}, "what to offer in one priority: `flow`, see above (repeatable)")
	f.StringVar(&to, "to", "", "address of the sink (default: the one that answers)")
	f.Uint16Var(&sc.VID, "vlan", 0, "`VLAN` of the tag (0: priority tag)")
	f.BoolVar(&sc.Untagged, "untagged", false, "send without tag")
	f.Uint8Var(&sc.DSCP, "dscp", 0, "`DSCP` of the packets")
	f.BoolVar(&sc.ECN, "ecn", false, "say that the sender knows ECN (ECT(0)): the switch may mark its packets")
	f.StringVar(&cc, "cc", "", "congestion `control` of all flows: dcqcn, which has --ecn")
	f.Uint64Var(&sc.Count, "count", 0, "number of frames after which to end")
	f.Var((*instant)(&sc.Start), "start", "when to begin, nanoseconds since 1970 (default: at once)")
	f.BoolVar(&sc.Packet, "packet-socket", false,
		"send by the packet socket alone, as before Linux 6.17 (default: by an AF_XDP socket where possible, faster)")
	f.BoolVar(&sc.NoSink, "no-sink", false, "load only: no sink is asked and no totals are exchanged; needs --to")
	return c
}

func parseFlows(texts []string) ([]traffic.Flow, error) {
	var flows []traffic.Flow
	for _, text := range texts {
		prio, keys, _ := strings.Cut(text, ":")
		p, err := strconv.ParseUint(prio, 10, 3)
		if err != nil {
			return nil, fmt.Errorf("--flow %s: it begins with a priority, 0 to 7", text)
		}
		f := traffic.Flow{Priority: uint8(p), Octets: 1514, Weight: 1}
		for _, kv := range strings.FieldsFunc(keys, func(r rune) bool { return r == ',' }) {
			if err := setFlow(&f, kv); err != nil {
				return nil, fmt.Errorf("--flow %s: %w", text, err)
			}
		}
		flows = append(flows, f)
	}
	return flows, nil
}

func setFlow(f *traffic.Flow, kv string) (err error) {
	k, v, _ := strings.Cut(kv, "=")
	if ok, err := setShape(f, k, v); ok {
		return err
	}
	numbers := map[string]*int{"octets": &f.Octets, "large": &f.Large, "every": &f.Every, "weight": &f.Weight}
	if n := numbers[k]; n != nil {
		*n, err = strconv.Atoi(v)
		return err
	}
	switch k {
	case "count":
		f.Count, err = strconv.ParseUint(v, 10, 64)
	case "window":
		f.Window, err = strconv.ParseUint(v, 10, 64)
	case "rate":
		f.Rate, err = config.ParseRate(v)
	case "to":
		f.To, err = traffic.ParseMAC(v)
	case "after":
		f.After, err = time.ParseDuration(v)
	case "for":
		f.Lasts, err = time.ParseDuration(v)
	case "cc":
		f.DCQCN, err = parseControl(v)
	default:
		err = fmt.Errorf("%q is not a key: they are octets, rate, count, window, weight, large, every, to, after, "+
			"for, cc, on, off and arrivals", k)
	}
	return err
}

func parseControl(text string) (dcqcn bool, err error) {
	if text != "dcqcn" && text != "" {
		return false, fmt.Errorf("%q is no congestion control: there is dcqcn", text)
	}
	return text == "dcqcn", nil
}

func sinkCommand() *cobra.Command {
	var e endpoint
	var cc, blockRate string
	var sc traffic.SinkConfig
	c := &cobra.Command{
		Use:   "sink INTERFACE",
		Short: "receive test traffic, and report loss, order and latency",
		Long: "Receives what pfcswitch send sends and holds its peer by PFC or PAUSE when it falls behind itself. " +
			"It ends when the\nexpected senders have settled their totals, after --seconds, or by a signal.",
		Example: "  pfcswitch sink eth0 --expect 3",
		Args:    checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, args []string) error {
			var err error
			if sc.Speed, sc.Lossless, err = e.parse(); err != nil {
				return err
			}
			if sc.DCQCN, err = parseControl(cc); err != nil {
				return fmt.Errorf("--cc %w", err)
			}
			if blockRate != "" {
				if sc.Block.Rate, err = config.ParseRate(blockRate); err != nil {
					return fmt.Errorf("--block-rate %s: %w", blockRate, err)
				}
			}
			sc.Interface, sc.Netns, sc.FlowControl = args[0], e.netns, e.flowControl
			if sc.Duration, err = e.duration(); err != nil {
				return err
			}
			r, err := traffic.RunSink(cmd.Context(), sc)
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), e.json, r, r.Text)
		}),
	}
	e.flags(c)
	f := c.Flags()
	f.IntVar(&sc.Expect, "expect", 0, "end when so many senders have settled")
	f.StringVar(&cc, "cc", "", "dcqcn: tell senders of marks (CE) by congestion notification packets in priority 6")
	f.Var((*instant)(&sc.From), "from", "rates are measured from here, nanoseconds since 1970")
	f.Var((*instant)(&sc.Until), "until", "rates are measured up to here, nanoseconds since 1970")
	f.IntVar(&sc.Slots, "slots", 0, "equal parts of the time between --from and --until, which are counted each too")
	f.Var((*instant)(&sc.Block.At), "block-at", "hold the peer from here on, nanoseconds since 1970, for --block-for")
	f.DurationVar(&sc.Block.For, "block-for", 0, "how long the peer is held, as by a receiver that hangs")
	f.DurationVar(&sc.Block.Every, "block-every", 0, "hold it again and again, so long after each beginning (0: once)")
	f.IntVar(&sc.Block.Times, "block-times", 0, "how often, with --block-every")
	f.StringVar(&blockRate, "block-rate", "", "`rate` in bit/s on the wire at which frames are taken meanwhile, and "+
		"the peer held only while 128 KiB wait (default: none is taken)")
	f.Int64Var(&sc.ReadRate, "read-rate", 0, "frames a second that are read at most (0: no limit)")
	return c
}

// stormFlags make send a broken host that pauses its peer without end.
type stormFlags struct {
	priority string
	duty     int
}

func (o *stormFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.priority, "storm", "", "send no data, but XOFF for a priority (--flow-control pause: "+
		"all), for --seconds")
	c.Flags().IntVar(&o.duty, "duty", 100, "share of the time for which a storm pauses the peer, in percent; the "+
		"peer counts at the speed of its port, which --speed has to be")
}

func (o *stormFlags) run(cmd *cobra.Command, e *endpoint, name string, start time.Time) error {
	speed, _, err := e.parse()
	if err != nil {
		return err
	}
	c := traffic.StormConfig{Interface: name, Netns: e.netns, Speed: speed, FlowControl: e.flowControl, Duty: o.duty,
		Start: start}
	if c.Priority, err = o.parsePriority(e.flowControl); err != nil {
		return err
	}
	if c.Duration, err = e.duration(); err != nil {
		return err
	}
	if c.Duration == 0 {
		return errors.New("--storm: say with --seconds how long")
	}
	r, err := traffic.RunStorm(cmd.Context(), c)
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
