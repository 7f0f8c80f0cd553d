// Package explain makes the frames of the command explain, and asks a switch about them.
//
//	explain.go  Running and Offline: a running switch, or a configuration file
//	frame.go    a frame from the flags of the command line
//	read.go     frames from a file: hexadecimal digits, pcap, pcapng
package explain

import (
	"context"
	"fmt"
	"strings"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/cmd/internal/watch"
)

// Running asks the switch behind a control socket.
func Running(ctx context.Context, socket string, questions []api.TraceRequest) (*api.Explanation, error) {
	client := api.NewClient(socket)
	all := &api.Explanation{Schema: api.Schema, Running: true, Frames: []api.ExplainedFrame{}}
	for i, q := range questions {
		asked, done := context.WithTimeout(ctx, watch.Timeout)
		e, err := client.Explain(asked, i+1, q)
		done()
		if err != nil {
			return nil, err
		}
		all.Switch = e.Switch
		all.Frames = append(all.Frames, e.Frames...)
	}
	return all, nil
}

// Offline asks what a switch with a configuration file would do with the frames.
func Offline(file string, questions []api.TraceRequest) (*api.Explanation, error) {
	c, _, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	rest, err := daemon.NewOfflineSwitch(c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rest.Close() }()
	all := &api.Explanation{Schema: api.Schema, Switch: c.Name, Frames: []api.ExplainedFrame{}}
	for i, q := range questions {
		f, ok := rest.Trace(q)
		if !ok {
			var names []string
			for i := range c.Ports {
				names = append(names, c.Ports[i].Name)
			}
			return nil, fmt.Errorf("%s has no port %q: it has %s", file, q.Port, strings.Join(names, ", "))
		}
		all.Frames = append(all.Frames, api.Explain(i+1, &f))
	}
	return all, nil
}
