package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"path/filepath"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
)

// A revival asks a keeper to start the switch of a node again, whose process has ended. The keeper answers with a
// revived.
type revival struct {
	Node string `json:"node"`
}

type revived struct {
	Error string `json:"error"` // "": it has started
}

// Times for a process that was killed to end, which the kernel does after its rings are gone, and for a request.
const (
	endTimeout     = 2 * time.Second
	requestTimeout = 10 * time.Second
)

// takeRequests opens the keeper's socket.
func (k *runningLab) takeRequests(ctx context.Context) (err error) {
	path := filepath.Join(k.folder, "keeper.sock")
	if k.requests, err = api.Listen(path, false); err != nil {
		return err
	}
	k.state.Socket = seenFromOutside(path)
	k.serving.Go(func() { k.runRequests(ctx, k.requests) })
	return nil
}

// runRequests serves one request after the other until its socket is closed.
func (k *runningLab) runRequests(ctx context.Context, l net.Listener) {
	for c, err := l.Accept(); !errors.Is(err, net.ErrClosed); c, err = l.Accept() {
		if err != nil {
			time.Sleep(100 * time.Millisecond) // it has no descriptors left, which passes
			continue
		}
		_ = c.SetDeadline(time.Now().Add(requestTimeout))
		var ask revival
		var a revived
		if err := json.NewDecoder(io.LimitReader(c, 1<<10)).Decode(&ask); err != nil {
			a.Error = err.Error()
		} else if err := k.revive(ctx, ask.Node); err != nil {
			a.Error = err.Error()
		}
		_ = json.NewEncoder(c).Encode(a) // who asked may be gone
		_ = c.Close()
	}
}

// revive starts the process of a node's switch again, once it has ended: in a lab of one process, all switches.
func (k *runningLab) revive(ctx context.Context, node string) error {
	i := slices.IndexFunc(k.daemons, func(d *daemon) bool { return d.node == node })
	if i < 0 {
		return fmt.Errorf("there is no switch %s", node)
	}
	p := k.daemons[i].process
	select {
	case <-p.Ended():
	case <-ctx.Done():
		return errors.New("the lab is being taken down")
	case <-time.After(endTimeout):
		return fmt.Errorf("its process %d has not ended within %v: it was not killed, or waits in the kernel "+
			"(State in /proc/%[1]d/status)", p.Pid(), endTimeout)
	}
	start, what := func() error { return k.startOne(i) }, node
	if k.state.InProcess {
		start, what = k.startAll, "all switches"
	}
	if err := start(); err != nil {
		return err
	}
	log.Printf("%s started again, because lab restart asked for it", what)
	k.watch(ctx, i)
	return nil
}

// revive asks the keeper for a start of the switch of a node.
func (s *State) revive(ctx context.Context, node string) error {
	if err := s.sameVersion(); err != nil {
		return err
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", s.Socket)
	if err != nil {
		return fmt.Errorf("the keeper of lab %s takes no requests: %w: pfcswitch lab down %[1]s", s.Name, err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(requestTimeout))
	var a revived
	if err := errors.Join(json.NewEncoder(c).Encode(revival{node}), json.NewDecoder(c).Decode(&a)); err != nil {
		return fmt.Errorf("the keeper of lab %s does not answer: %w", s.Name, err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// version is that of this program, as keepers write it down.
func version() string {
	v := api.ThisVersion()
	if v.Revision != nil {
		return v.Version + " " + *v.Revision
	}
	return v.Version
}

// sameVersion returns an error where the lab's keeper is of another version than this program.
func (s *State) sameVersion() error {
	if s.Version == version() {
		return nil
	}
	return fmt.Errorf("lab %s was brought up by another version of pfcswitch: pfcswitch lab down %[1]s, and bring it "+
		"up again", s.Name)
}
