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
// when it forwards. The others go on.
func Restart(ctx context.Context, argument, part, node string, out io.Writer) error {
	s, err := stateOf(argument, part)
	if err != nil {
		return err
	}
	n := s.Node(node)
	if n == nil || n.Socket == "" {
		return fmt.Errorf("lab %s has no switch %s: there are %s", s.Name, node, strings.Join(s.switches(), ", "))
	}
	c := api.NewClient(n.Socket)
	before, err := healthOf(ctx, c)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.Restart(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+time.Duration(s.Links)*linkTime)
	defer cancel()
	if err := awaitStart(ctx, c, before.Started); err != nil {
		err = fmt.Errorf("%s does not forward again (%w)", node, err)
		if path, pathErr := statePath(s.Name); pathErr == nil {
			err = fmt.Errorf("%w: the keeper's log says more: %s", err, logPath(path))
		}
		return err
	}
	_, err = fmt.Fprintf(out, "%s of lab %s forwards again after %.2f s\n", node, s.Name, time.Since(began).Seconds())
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
