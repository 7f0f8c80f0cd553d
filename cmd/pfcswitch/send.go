package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
)

// endpoint are the flags that sender and sink share.
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
	f.UintSliceVar(&e.lossless, "lossless", []uint{3}, "priorities under PFC")
	f.Float64Var(&e.seconds, "seconds", 0, "how long")
	f.BoolVarP(&e.json, "json", "j", false, "report as JSON")
}

// longest is what an endpoint may be told to run, in seconds: a year.
const maxSeconds = 365 * 24 * 3600

// duration returns the time that the endpoint runs.
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
	var to string
	var start int64
	var sc traffic.SendConfig
	var storm stormFlags
	c := &cobra.Command{
		Use:   "send INTERFACE",
		Short: "send test traffic as a host that obeys PFC and PAUSE",
		Long: "Sends to the sink that answers its call (pfcswitch sink), with one queue per priority in front of the port's\n" +
			"speed, and exchanges totals with it at the end. A flow is PRIORITY[:key=value]..., with the keys octets (1514,\nwith the tag, without FCS), rate (bit/s on the wire; default: as much as goes) and weight (1);\nevery=N,large=OCTETS makes each N-th frame of another length.",
		Example: "  pfcswitch send eth0 --speed 1G --flow 3 --flow 0:octets=128,rate=10M --seconds 10\n  pfcswitch send eth0 --storm 3 --duty 100 --seconds 5",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if storm.priority != "" {
				return storm.run(cmd, &e, args[0], start)
			}
			var err error
			if sc.Speed, sc.Lossless, err = e.parse(); err != nil {
				return err
			}
			if sc.Flows, err = parseFlows(flows); err != nil {
				return err
			}
			if sc.Destination, err = traffic.ParseMAC(to); err != nil {
				return fmt.Errorf("--to %w", err)
			}
			sc.Interface, sc.Netns, sc.FlowControl = args[0], e.netns, e.flowControl
			if sc.Duration, err = e.duration(); err != nil {
				return err
			}
			if start != 0 {
				sc.Start = time.Unix(0, start)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, err := traffic.RunSend(ctx, sc)
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), e.json, r, r.Text)
		},
	}
	e.flags(c)
	storm.flags(c)
	f := c.Flags()
	f.StringArrayVar(&flows, "flow", []string{"3"}, "what to offer in one priority (repeatable)")
	f.StringVar(&to, "to", "", "address of the sink (default: the one that answers)")
	f.Uint16Var(&sc.VID, "vlan", 0, "VLAN of the tag (0: priority tag)")
	f.BoolVar(&sc.Untagged, "untagged", false, "send without tag")
	f.Uint8Var(&sc.DSCP, "dscp", 0, "DSCP of the packets")
	f.Uint64Var(&sc.Count, "count", 0, "number of frames after which to end")
	f.Int64Var(&start, "start", 0, "when to begin, nanoseconds since 1970 (default: at once)")
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
	switch k {
	case "octets":
		f.Octets, err = strconv.Atoi(v)
	case "large":
		f.Large, err = strconv.Atoi(v)
	case "every":
		f.Every, err = strconv.Atoi(v)
	case "weight":
		f.Weight, err = strconv.Atoi(v)
	case "rate":
		f.Rate, err = config.ParseRate(v)
	default:
		err = fmt.Errorf("%q is not a key: they are octets, rate, weight, large and every", k)
	}
	return err
}

// printReport prints what an endpoint has to say, for people or as JSON.
func printReport(out io.Writer, asJSON bool, report any, text func(io.Writer) error) error {
	if !asJSON {
		return text(out)
	}
	return api.WriteJSON(out, report)
}
