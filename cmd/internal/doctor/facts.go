package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/linkcheck"
	"pfcswitch/dataplane/port"
)

// OfFile gathers the facts of a configuration file that this user would run.
func OfFile(file string) (*Facts, error) {
	c, _, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	f := &Facts{Looked: file, Config: c, Machine: ReadMachine("/")}
	if f.Process, err = ReadProcess(0); err != nil {
		return nil, err
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		f.Process.Netns = f.Process.Netns || p.Netns != ""
		if p.Kind != config.KindTAP {
			f.Targets = append(f.Targets, Target{Port: p.Name, Interface: p.Interface, Netns: p.Netns, Config: p,
				Lossless: losslessOf(c, p)})
		}
	}
	return f, f.survey()
}

// OfSwitch gathers the facts of the switch behind a control socket.
func OfSwitch(ctx context.Context, socket string) (*Facts, error) {
	client := api.NewClient(socket)
	f := &Facts{Socket: socket, Machine: ReadMachine("/")}
	var err error
	if f.PID, err = client.PID(ctx); err != nil {
		return nil, err
	}
	if f.Process, err = ReadProcess(f.PID); err != nil {
		f.NotSeen = append(f.NotSeen, fmt.Sprintf("the capabilities and the nice value of the switch: %v", err))
	}
	if err := f.readThreads(ctx, client); err != nil {
		return nil, err
	}
	if err := f.readSwitch(ctx, client); err != nil {
		if !slices.ContainsFunc(f.Threads, func(t api.Thread) bool { return t.Hangs() }) {
			return nil, err
		}
		f.NotSeen = append(f.NotSeen, fmt.Sprintf("the ports of the switch: %v", err))
		return f, nil
	}
	return f, f.survey()
}

// readThreads asks first, because a switch answers that also while one of them has the locks of all other answers.
func (f *Facts) readThreads(ctx context.Context, client *api.Client) error {
	r, err := client.Show(ctx, "threads")
	if err != nil {
		return err
	}
	t := r.(*api.Threads)
	f.Switch, f.Looked, f.Threads = t.Switch, "switch "+t.Switch, t.Threads
	return nil
}

func (f *Facts) readSwitch(ctx context.Context, client *api.Client) (err error) {
	if f.Config, err = linkcheck.ConfigOf(ctx, client); err != nil {
		return err
	}
	return f.readPorts(ctx, client)
}

// readPorts makes a target of each port of a running switch.
func (f *Facts) readPorts(ctx context.Context, client *api.Client) error {
	var replies [3]api.Reply
	for i, noun := range []string{"ports", "lldp", "headroom"} {
		var err error
		if replies[i], err = client.Show(ctx, noun); err != nil {
			return err
		}
	}
	live, lldp, headroom := replies[0].(*api.Ports), replies[1].(*api.LLDP), replies[2].(*api.Headroom)
	f.LosslessDrops, f.LosslessDiscarded = live.LosslessDrops, live.LosslessDiscarded
	f.BacklogDrops = live.KernelBacklogDrops
	for i := range f.Config.Ports {
		p := &f.Config.Ports[i]
		t := Target{Port: p.Name, Interface: p.Interface, Netns: p.Netns, Config: p, Lossless: losslessOf(f.Config, p)}
		t.Live = first(live.Ports, func(l *api.Port) bool { return l.Port == p.Name })
		t.LLDP = first(lldp.Ports, func(l *api.LLDPPort) bool { return l.Port == p.Name })
		if h := first(headroom.Ports, func(h *api.HeadroomPort) bool { return h.Port == p.Name }); h != nil {
			if t.Manual = h.ManualRequired; t.Manual && h.Remedy != nil {
				t.Remedy = *h.Remedy
			}
			t.Late, t.Swallows = latenessOf(h), h.ControlFrames == api.ControlSwallowed
		}
		if f.Process != nil {
			f.Process.Netns = f.Process.Netns || p.Netns != ""
		}
		var err error
		if t.Netns, err = linkcheck.NetnsOf(ctx, client, optional(p.Netns)); err != nil {
			return err
		}
		f.Targets = append(f.Targets, t)
	}
	return nil
}

// first returns the first element that matches; nil where none does.
func first[T any](all []T, matches func(*T) bool) *T {
	for i := range all {
		if matches(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// OfNamespace gathers the facts of every interface in this network namespace that may be a port or a host's interface.
// The interface with the default route carries the management traffic and does not count.
func OfNamespace() (*Facts, error) {
	f := &Facts{Looked: "this network namespace", Machine: ReadMachine("/")}
	links, err := port.Interfaces("")
	if err != nil {
		return nil, err
	}
	if f.Targets, err = targetsAmong(links); err != nil {
		return nil, err
	}
	return f, f.survey()
}

func targetsAmong(links []port.Link) (all []Target, err error) {
	for _, l := range links {
		if (l.Kind == "veth" || l.Kind == "") && !l.Default {
			all = append(all, Target{Interface: l.Name})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no switch runs here, and this network namespace has no interface that might be a " +
			"port: name a configuration file, or a running switch (-s)")
	}
	return all, nil
}

func losslessOf(c *config.Config, p *config.Port) uint8 {
	if p.FlowControl == config.FlowPause {
		return 0xff
	}
	return c.LosslessOf(p)
}

// survey inspects the interface of every target. A TAP is the switch's own: it has no link, and no far end.
func (f *Facts) survey() error {
	for i := range f.Targets {
		t := &f.Targets[i]
		if t.isTAP() {
			continue
		}
		s, err := port.SurveyOne(t.Netns, t.Interface)
		switch {
		case errors.Is(err, port.ErrNoInterface), errors.Is(err, port.ErrNoNetns):
			t.Absent = err
		case err != nil:
			return fmt.Errorf("look at %s: %w", t.Interface, err)
		}
		if t.Survey = s; s != nil && s.Kind == "veth" && s.Peer == nil {
			f.NotSeen = append(f.NotSeen, fmt.Sprintf("the far end of %s: its network namespace has no name, and no "+
				"process in it that this user may look at", s.Name))
		}
	}
	return nil
}
