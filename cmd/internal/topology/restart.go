package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
)

// Restart starts one switch or host NIC of a lab again, with its configuration of when the lab came up, and returns
// when it forwards. The others go on. Where the process has ended, all that ran in it start again.
func Restart(ctx context.Context, argument, part, node string, out io.Writer) error {
	s, err := stateOf(argument, part)
	if err != nil {
		return err
	}
	n := s.Node(node)
	if n == nil || n.Socket == "" {
		return fmt.Errorf("lab %s has no switch %s: there are %s", s.Name, node, strings.Join(s.switches(), ", "))
	}
	began, c := time.Now(), api.NewClient(n.Socket)
	before, err := healthOf(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return s.restartEnded(ctx, node, err, out)
	}
	if err := c.Restart(ctx); err != nil {
		return err
	}
	if err := s.awaitStart(ctx, n, before.Started); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s of lab %s forwards again after %.2f s\n", node, s.Name, time.Since(began).Seconds())
	return err
}

// restartEnded starts a switch again that does not answer, because its process has ended: in a lab of one process, all
// switches.
func (s *State) restartEnded(ctx context.Context, node string, silence error, out io.Writer) error {
	began := time.Now()
	if err := s.revive(ctx, node); err != nil {
		return fmt.Errorf("%s of lab %s does not answer (%w), and cannot be started: %w", node, s.Name, silence, err)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Name == node || s.InProcess && n.Socket != "" {
			if err := s.awaitStart(ctx, n, time.Time{}); err != nil {
				return err
			}
		}
	}
	what := "the process of %s of lab %s had ended: it forwards again after %.2f s\n"
	if s.InProcess {
		what = "the process of %s of lab %s had ended, and with it all switches of the lab, which run in it: they " +
			"forward again after %.2f s\n"
	}
	_, err := fmt.Fprintf(out, what, node, s.Name, time.Since(began).Seconds())
	return err
}

// awaitStart waits until the switch of a node forwards that is not the one that started at a time.
func (s *State) awaitStart(ctx context.Context, n *Node, other time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+time.Duration(s.Links)*linkTime)
	defer cancel()
	err := awaitStart(ctx, api.NewClient(n.Socket), other)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s does not forward again (%w)", n.Name, err)
	if path, pathErr := statePath(s.Name); pathErr == nil {
		err = fmt.Errorf("%w: the keeper's log says more: %s", err, logPath(path))
	}
	return err
}

func (s *State) switches() (names []string) {
	for _, n := range s.Nodes {
		if n.Socket != "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// awaitStart waits until a switch forwards that is not the one that started at a time, with the same socket.
func awaitStart(ctx context.Context, c *api.Client, other time.Time) error {
	var last error
	for {
		h, err := healthOf(ctx, c)
		switch {
		case err == nil && !h.Started.Equal(other) && h.Ready:
			return nil
		case err == nil && !h.Started.Equal(other):
			last = errors.New(strings.TrimSpace(h.Text()))
		case ctx.Err() == nil:
			last = err // nil: the former one has not ended
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func healthOf(ctx context.Context, c *api.Client) (*api.Health, error) {
	r, err := c.Show(ctx, "health")
	if err != nil {
		return nil, err
	}
	h, ok := r.(*api.Health)
	if !ok {
		return nil, fmt.Errorf("the switch's answer is a %T", r)
	}
	return h, nil
}
