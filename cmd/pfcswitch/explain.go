package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/explain"
)

type explainFlags struct {
	socket, file, in string
	hex, pcap        string
	frames           int
	json             bool
	frame            explain.Frame
}

func explainCommand() *cobra.Command {
	var o explainFlags
	c := &cobra.Command{
		Use:   "explain --in PORT --dst MAC",
		Short: "say where a frame would go, or why it would be dropped",
		Long: `Prints the way of a frame that arrives now, step by step: priority, VLAN, ports that it leaves by, room in
the buffer, XOFF to the peer, queue, frames ahead of it, pauses. Each step names the key of the configuration that
decides, and the current figures. The code that forwards frames answers; nothing is sent, learned or counted. With -c
a configuration file answers, as a switch with every port up, nothing learned and an empty buffer.`,
		Example: "  pfcswitch explain --in p1 --dst 02:00:00:00:00:04 --vlan 10 --pcp 3\n" +
			"  pfcswitch explain --in p1 --dst ff:ff:ff:ff:ff:ff --dscp 26 --octets 1514 -c switch.yaml\n" +
			"  pfcswitch explain --in p1 --pcap frames.pcapng --frames 3 -j",
		Args: checkArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := o.explain(cmd)
			if err != nil {
				return err
			}
			return printReply(cmd.OutOrStdout(), o.json, e)
		},
	}
	f := c.Flags()
	socketFlag(c, &o.socket)
	f.StringVarP(&o.file, "config", "c", "", "ask this configuration file instead of a running switch")
	f.StringVar(&o.in, "in", "", "port that the frame arrives at")
	registerCompletion(c, "config", completeFile)
	registerCompletion(c, "in", offerPorts(&o.socket))
	f.StringVar(&o.frame.Dst, "dst", "", "destination address")
	f.StringVar(&o.frame.Src, "src", "", "source address (default: a station that nobody knows)")
	f.IntVar(&o.frame.VLAN, "vlan", -1, "VLAN of its tag; 0: a priority tag")
	f.IntVar(&o.frame.PCP, "pcp", -1, "priority in its tag, 0 to 7")
	f.IntVar(&o.frame.DSCP, "dscp", -1, "DSCP of its IP header, 0 to 63")
	f.BoolVar(&o.frame.ECN, "ecn", false, "its sender knows ECN")
	f.IntVar(&o.frame.EtherType, "type", -1, "its EtherType, where it is no IPv4 packet")
	f.IntVar(&o.frame.Octets, "octets", 1514, "its length without FCS, with the tag")
	f.IntVar(&o.frame.GSO, "gso", -1, "it is a TCP GSO frame with segments of so many octets")
	f.StringVar(&o.hex, "hex", "", "file with frames as hexadecimal digits, one a line; -: standard input")
	f.StringVar(&o.pcap, "pcap", "", "capture with frames, pcap or pcapng; -: standard input")
	f.IntVar(&o.frames, "frames", 1, "how many frames of the file, from its beginning")
	jsonFlag(c, &o.json)
	return c
}

func (o *explainFlags) explain(cmd *cobra.Command) (*api.Explanation, error) {
	if o.in == "" {
		return nil, errors.New("--in is missing: name the port that the frame arrives at")
	}
	questions, err := o.requests(cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	if o.file != "" {
		return explain.Offline(o.file, questions)
	}
	socket, err := api.Find(o.socket)
	if err != nil {
		return nil, err
	}
	return explain.Running(cmd.Context(), socket, questions)
}

// maxExplained is how many frames of a file are explained at most.
const maxExplained = 1000

func (o *explainFlags) requests(stdin io.Reader) ([]api.TraceRequest, error) {
	if o.frames < 1 || o.frames > maxExplained {
		return nil, fmt.Errorf("--frames %d: 1 to %d are possible", o.frames, maxExplained)
	}
	switch {
	case o.hex != "" && o.pcap != "":
		return nil, errors.New("--hex and --pcap exclude each other")
	case o.hex != "":
		return o.read(o.hex, stdin, explain.ReadHex)
	case o.pcap != "":
		return o.read(o.pcap, stdin, explain.ReadCapture)
	}
	q, err := o.frame.Request(o.in)
	return []api.TraceRequest{q}, err
}

func (o *explainFlags) read(name string, in io.Reader, frames func(io.Reader, int) ([][]byte, error)) (
	[]api.TraceRequest, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	all, err := frames(in, o.frames)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no frame", name)
	}
	var questions []api.TraceRequest
	for _, b := range all {
		questions = append(questions, api.TraceRequest{Port: o.in, Frame: b})
	}
	return questions, nil
}
