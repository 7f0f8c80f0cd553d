package labrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"pfcswitch/cmd/internal/config"
)

// addFaults gives the sinks of hosts what these do to their peers.
func (r *run) addFaults() error {
	for i := range r.topology.Faults {
		f := &r.topology.Faults[i]
		host := cmp.Or(f.Storm, f.Slow)
		if host == "" {
			continue
		}
		if err := r.checkHost("faults."+f.Name, host); err != nil {
			return err
		}
		e := r.addSink(host)
		if e.fault != nil {
			return r.topology.Errorf("faults."+f.Name, "%s has %s, and a host on real links has one storm or slow: "+
				"remove one of them, or run the file by pfcswitch sim", host, e.fault.Name)
		}
		e.fault = f
	}
	return nil
}

// checkFlaps refuses links that flap where the program is missing that takes them down.
func (r *run) checkFlaps() error {
	for i := range r.topology.Faults {
		f := &r.topology.Faults[i]
		if _, err := exec.LookPath("ip"); f.Flap != "" && err != nil {
			return r.topology.Errorf("faults."+f.Name+".flap", "ip, which takes the link down, is not there: install "+
				"iproute2, or run the file by pfcswitch sim")
		}
	}
	return nil
}

// faultArgs are the arguments of the sink with a fault. One without a duration lasts as long as the sink.
func (r *run) faultArgs(f *config.LabFault) []string {
	lasts := cmp.Or(f.Duration, r.length+abandonedTime)
	args := []string{"--block-at", fmt.Sprint(r.start.Add(f.Start).UnixNano()), "--block-for", lasts.String()}
	if f.Every > 0 && f.Start < r.length {
		args = append(args, "--block-every", f.Every.String(), "--block-times",
			fmt.Sprint(int64((r.length-f.Start+f.Every-1)/f.Every)))
	}
	if f.Rate > 0 {
		args = append(args, "--block-rate", fmt.Sprint(f.Rate))
	}
	return args
}

// startFlaps takes links down and up again, until ctx ends. wait returns when all are up.
func (r *run) startFlaps(ctx context.Context) (wait func() error) {
	var flaps []chan error
	for i := range r.topology.Faults {
		if f := &r.topology.Faults[i]; f.Flap != "" {
			flaps = append(flaps, make(chan error, 1))
			go r.runFlap(ctx, f, flaps[len(flaps)-1])
		}
	}
	return func() (err error) {
		for _, flap := range flaps {
			err = errors.Join(err, <-flap)
		}
		return err
	}
}

// runFlap takes a link down and up again, as often as its fault says while there is traffic, and at last when ctx ends.
func (r *run) runFlap(ctx context.Context, f *config.LabFault, ended chan<- error) {
	var err error
	for at := f.Start; at < r.length && sleepUntil(ctx, r.start.Add(at)) && err == nil; at += f.Every {
		err = r.fail(f.Flap, 1)
		if f.Duration > 0 {
			sleepUntil(ctx, r.start.Add(at+f.Duration))
		} else {
			<-ctx.Done()
		}
		if err = errors.Join(err, r.fail(f.Flap, -1)); f.Every == 0 {
			break
		}
	}
	ended <- err
}

// fail takes a link down where the first of its faults begins, and up where the last ends.
func (r *run) fail(link string, more int) error {
	r.linkFaults.Lock()
	defer r.linkFaults.Unlock()
	was := r.failing[link]
	r.failing[link] += more
	switch {
	case was == 0:
		return r.setLink(r.flappingEnd(link), "down")
	case r.failing[link] == 0:
		return r.setLink(r.flappingEnd(link), "up")
	}
	return nil
}

// flappingEnd returns the end of a link that is taken down: that of a switch. The other end loses its carrier, so that
// a host's sender goes on when the link is up again.
func (r *run) flappingEnd(link string) (end config.LabEnd) {
	for i := range r.topology.Links {
		if l := &r.topology.Links[i]; l.Name == link {
			end = l.Ends[0]
			if r.plan.Ports[end.Node] != nil {
				end = l.Ends[1]
			}
		}
	}
	return end
}

// setLink takes an end of a link down or up. A link can be taken up after the run was interrupted, too.
func (r *run) setLink(end config.LabEnd, state string) error {
	argv := append(r.state.Node(end.Node).Enter, "ip", "link", "set", "dev", end.Interface, state)
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s:%s %s: %s: %w (ip is of iproute2)", end.Node, end.Interface, state,
			strings.TrimSpace(string(out)), err)
	}
	return nil
}

// sleepUntil waits for a moment and tells whether ctx has not ended before.
func sleepUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return true
	}
}
