package topology

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"pfcswitch/cmd/internal/lab"
)

// Exec replaces this process by a program inside a node of a lab. It returns only on errors.
func Exec(argument, part, node string, program []string) error {
	s, err := stateOf(argument, part)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range s.Nodes {
		if n.Name == node {
			return execProgram(append(n.Enter, program...))
		}
		names = append(names, n.Name)
	}
	return fmt.Errorf("lab %s has no node %s: there are %s", s.Name, node, strings.Join(names, ", "))
}

// stateOf returns the state of a lab that is up, by the file of its topology or its name.
func stateOf(argument, part string) (s State, err error) {
	name, err := nameOf(argument, part)
	if err != nil {
		return s, err
	}
	path, err := statePath(name)
	if err != nil {
		return s, err
	}
	return runningState(name, path)
}

// runningState returns the state of a lab whose keeper lives.
func runningState(name, path string) (s State, err error) {
	switch locked, err := lab.Locked(path); {
	case errors.Is(err, os.ErrNotExist):
		return s, fmt.Errorf("lab %s %w: pfcswitch lab up FILE", name, ErrNotUp)
	case err != nil:
		return s, err
	case !locked:
		return s, fmt.Errorf("lab %s %w: its keeper was killed; pfcswitch lab down %[1]s removes what it left", name,
			ErrNotUp)
	}
	s, ok := readState(path)
	if !ok || len(s.Nodes) == 0 {
		return s, fmt.Errorf("lab %s is being brought up: try again", name)
	}
	return s, nil
}

func execProgram(argv []string) error {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("%w (Debian: apt-get install util-linux)", err)
	}
	return os.NewSyscallError("exec "+program, syscall.Exec(program, argv, os.Environ()))
}
