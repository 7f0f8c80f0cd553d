package topology

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// Descriptors of the keeper, from 3 on.
const (
	lockFD   = 3 // the state file, locked
	answerFD = 4 // the pipe for its answer
)

// An answer is the keeper's message to Up: the state of the lab, or why it is not up.
type answer struct {
	State State  `json:"state"`
	Error string `json:"error"`
}

// Options say how Up brings a lab up.
type Options struct {
	Part      string // the part that this machine has; empty: the whole lab
	InProcess *bool  // one process runs all switches; nil: where there are more than mostProcesses
	Keeper    []string
	scale     float64 // of all speeds and rates; 0: 1
}

// mostProcesses is how many switches have a process each by default. In one process they take less memory and CPU time.
const mostProcesses = 8

func (o *Options) inProcess(t *config.Topology) bool {
	if o.InProcess != nil {
		return *o.InProcess
	}
	return len(t.Switches) > mostProcesses
}

// Up brings the lab of a file up, or one part of it, and returns when every switch forwards. On an error nothing of the
// lab is left. Up prints how to enter the lab. It runs the own binary again with the arguments in o.Keeper, flags for
// Hold and the file; that process calls Hold.
func Up(ctx context.Context, file string, o Options, out io.Writer) error {
	began := time.Now()
	t, err := load(file, o.Part, 1)
	if err != nil {
		return err
	}
	state, err := bringUp(ctx, t, file, &o)
	if err != nil {
		return err
	}
	return state.print(out, time.Since(began))
}

var errUp = errors.New("is up already")

// bringUp starts the keeper of a lab that is not up.
func bringUp(ctx context.Context, t *config.Topology, file string, o *Options) (*State, error) {
	name := t.Name
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	path, err := statePath(name)
	if err != nil {
		return nil, err
	}
	lock, err := lab.LockFile(path)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lab %s %w: pfcswitch lab down %s", name, errUp, topologyFile(path,
			partFlag(o.Part)+file))
	}
	if err != nil {
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	defer func() { _ = lock.Close() }() // the keeper has the same open file, which keeps the lock
	return startKeeper(ctx, name, path, lock, append(slices.Clone(o.Keeper), "--part="+o.Part,
		fmt.Sprintf("--in-process=%v", o.inProcess(t)), fmt.Sprintf("--scale=%v", cmp.Or(o.scale, 1)), file))
}

// topologyFile is the file that a lab was brought up with.
func topologyFile(path, otherwise string) string {
	if s, ok := readState(path); ok && s.File != "" {
		return partFlag(s.Part) + s.File
	}
	return otherwise
}

// startKeeper runs the keeper and waits for its answer. When ctx ends first, the keeper undoes its work.
func startKeeper(ctx context.Context, name, path string, lock *os.File, args []string) (*State, error) {
	killed, _ := readState(path)
	if err := lock.Truncate(0); err != nil { // else Down takes the number of a dead keeper for that of this one
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	if err := removeLeftovers(name, killed); err != nil {
		return nil, err
	}
	log, err := lab.OpenOwn(logPath(path), os.O_CREATE|os.O_TRUNC|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	keeper, err := lab.Detach(args, log, lock, to)
	_ = to.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lab %s: %w", name, err), removeState(path))
	}
	stop := context.AfterFunc(ctx, func() { _ = keeper.Signal(unix.SIGTERM) })
	defer stop()
	text, err := io.ReadAll(from)
	var a answer
	up := err == nil && json.Unmarshal(text, &a) == nil && a.Error == ""
	if up && stop() { // stop fails where the keeper got the signal to end after it was ready
		return &a.State, keeper.Release()
	}
	_, _ = keeper.Wait() // a keeper undoes everything before it ends
	switch output, _ := os.ReadFile(log.Name()); {
	case ctx.Err() != nil:
		err = fmt.Errorf("lab %s: interrupted, and nothing is left of it", name)
	case a.Error != "":
		err = errors.New(a.Error)
	default:
		err = fmt.Errorf("lab %s: its keeper died: %s", name, strings.TrimSpace(string(output)))
	}
	left, _ := readState(path)
	return nil, errors.Join(err, removeLeftovers(name, left), removeState(path))
}

// print says how to enter the lab and how to end it.
func (s *State) print(out io.Writer, took time.Duration) error {
	how := ""
	if s.InProcess {
		how = ", its switches in one process"
	}
	fmt.Fprintf(out, "lab %s is up%s: %d nodes, %d links, %.1f s\n", s.Name, how, len(s.Nodes), s.Links, took.Seconds())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  NODE\tKIND\tSHELL INSIDE\tSOCKET")
	socket := ""
	for _, n := range s.Nodes {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", n.Name, n.Kind, strings.Join(n.Enter, " "), n.Socket)
		socket = cmp.Or(socket, n.Socket)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	file := partFlag(s.Part) + s.File
	fmt.Fprintf(out, "run a program in a node:  pfcswitch lab exec %s %s ip address\n", file,
		s.Nodes[len(s.Nodes)-1].Name)
	if socket != "" {
		fmt.Fprintf(out, "ask a switch:             pfcswitch show pfc -s %s\n", socket)
	}
	if path, err := statePath(s.Name); err == nil {
		fmt.Fprintf(out, "if a switch ends, why:    %s\n", logPath(path))
	}
	_, err := fmt.Fprintf(out, "take it down:             pfcswitch lab down %s\n", file)
	return err
}
