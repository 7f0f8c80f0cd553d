package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
)

// Use returns the lab of a file: the one that is up with it, or one that it brings up as Up does. down takes down what
// Use brought up, and nothing else. A lab that is up has to have the same scale of all speeds and rates.
func Use(ctx context.Context, t *config.Topology, file string, keeper []string, scale float64) (s *State,
	down func() error, err error) {
	s, err = bringUp(ctx, t, file, &Options{Keeper: keeper, scale: scale})
	if err == nil {
		return s, func() error { return Down(context.WithoutCancel(ctx), t.Name, "", io.Discard) }, nil
	}
	if !errors.Is(err, errUp) {
		return nil, nil, err
	}
	path, err := statePath(t.Name)
	if err != nil {
		return nil, nil, err
	}
	up, err := runningState(t.Name, path)
	if err != nil {
		return nil, nil, err
	}
	if err := up.sameVersion(); err != nil {
		return nil, nil, err
	}
	if up.Scale != scale {
		return nil, nil, fmt.Errorf("lab %s is up with its speeds times %g, and the traffic's would be times %g: "+
			"pfcswitch lab down %[1]s", t.Name, up.Scale, scale)
	}
	return &up, func() error { return nil }, up.belongsTo(t, file)
}

// CheckDown returns an error if a lab of this name is up.
func CheckDown(name string) error {
	path, err := statePath(name)
	if err != nil {
		return err
	}
	if _, err := runningState(name, path); err == nil {
		return fmt.Errorf("lab %s %w: pfcswitch lab down %[1]s", name, errUp)
	}
	return nil
}

// programsTimeout is the time in which the switches of a lab without links attach their programs.
const programsTimeout = 10 * time.Second

// AwaitPrograms waits until no port of the lab is without the programs in the kernel that it is going to have: until
// then it loses frames in shorter standstills.
func (s *State) AwaitPrograms(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, programsTimeout+time.Duration(s.Links)*linkTime)
	defer cancel()
	for _, n := range s.Nodes {
		if n.Socket == "" {
			continue
		}
		if err := awaitPrograms(ctx, api.NewClient(n.Socket)); err != nil {
			return fmt.Errorf("%s: wait for its programs: %w", n.Name, err)
		}
	}
	return nil
}

func awaitPrograms(ctx context.Context, c *api.Client) error {
	for {
		reply, err := c.Show(ctx, "ports")
		if err != nil {
			return err
		}
		if p, ok := reply.(*api.Ports); !ok || !p.Starting() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// belongsTo refuses a topology that is not the one of the lab that is up.
func (s *State) belongsTo(t *config.Topology, file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if s.File != abs {
		return t.Errorf("name", "lab %s is up with another file, %s: take it down (pfcswitch lab down %[1]s), run "+
			"that file, or write another name", t.Name, s.File)
	}
	want, have := t.Nodes(), []string(nil)
	for _, n := range s.Nodes {
		have = append(have, n.Name)
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) || s.Links != len(t.Links) {
		return fmt.Errorf("%s: its nodes or links have changed since lab %s came up: take it down (pfcswitch lab down "+
			"%[2]s) and run the file again", file, t.Name)
	}
	return nil
}

// Node returns the node with a name.
func (s *State) Node(name string) *Node {
	if i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name }); i >= 0 {
		return &s.Nodes[i]
	}
	return nil
}
