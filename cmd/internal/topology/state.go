package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// A State is the content of a lab's state file.
type State struct {
	Schema int    `json:"schema"`
	Name   string `json:"name"`
	File   string `json:"file"`
	Part   string `json:"part"`  // that this machine has; "": the whole lab
	Keeper int    `json:"pid"`   // of the keeper
	Nodes  []Node `json:"nodes"` // none before the lab is up to stay
	Links  int    `json:"links"`

	Version string `json:"version"` // of the keeper
	Socket  string `json:"socket"`  // where the keeper takes requests; "" before the lab is up to stay

	InProcess bool    `json:"in_process"` // one process runs all switches and host NICs
	Scale     float64 `json:"scale"`      // of all speeds and rates of the file
}

// A Node is a switch or a host of a lab that is up.
type Node struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`      // switch, host, or nic: a host with a host NIC
	Namespace string   `json:"namespace"` // as "ip netns" lists it
	Enter     []string `json:"enter"`     // the command that runs a program, appended to it, inside
	Socket    string   `json:"socket"`    // of the switch or host NIC; "" where there is none
}

// stateDir is the folder of state files: for root that of labs, else in the user's run-time folder.
func stateDir() (string, error) {
	if os.Geteuid() == 0 {
		return lab.Folder + "/topologies", nil
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return "", errors.New("XDG_RUNTIME_DIR is not set, so there is no place for the lab's state: set it to a " +
			"folder of yours, or use sudo")
	}
	return filepath.Join(dir, "pfcswitch", "topologies"), nil
}

// statePath returns the state file of a lab.
func statePath(name string) (string, error) {
	dir, err := stateDir()
	return filepath.Join(dir, name+".json"), err
}

// logPath is the file with the output of a lab's keeper.
func logPath(state string) string { return state + ".log" }

// nameOf returns the lab that an argument names: the file of a topology, or its name; with a part, that part of it. A
// folder or another file of that name does not hide a lab.
func nameOf(argument, part string) (string, error) {
	data, err := os.ReadFile(argument)
	if part != "" {
		part = "." + part
	}
	if name := config.TopologyName(data); err == nil && name != "" {
		return name + part, nil
	}
	if argument += part; isUp(argument) {
		return argument, nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: no such file, and no lab of this name is up: see pfcswitch lab ls", argument)
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("%s: has no name: write the one that the lab was brought up with, or give it instead of the "+
		"file", argument)
}

// isUp tells whether there is a state file of a lab.
func isUp(name string) bool {
	path, err := statePath(name)
	if err != nil || filepath.Base(name) != name {
		return false
	}
	_, err = os.Stat(path)
	return err == nil
}

// readState reads a state file. ok is false before the keeper has written the file, and after it has removed it.
func readState(path string) (s State, ok bool) {
	f, err := lab.OpenOwn(path, os.O_RDONLY)
	if err != nil {
		return s, false
	}
	defer func() { _ = f.Close() }()
	return s, json.NewDecoder(f).Decode(&s) == nil && s.Keeper > 0
}

// write replaces the content of the state file.
func (s *State) write(f *os.File) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}
