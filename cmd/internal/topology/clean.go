package topology

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// removeLeftovers removes what a lab whose keeper was killed has left; state is where that lab was written down.
func removeLeftovers(name, state string) error {
	if os.Geteuid() != 0 {
		return nil // all of it was in the keeper's own namespaces
	}
	err := errors.Join(lab.Sweep(), os.RemoveAll(configFolder(name)), removeSockets(name, state))
	if err != nil {
		return fmt.Errorf("lab %s: clear away what a killed one left: %w", name, err)
	}
	return nil
}

// dying is how long the kernel may take to end the switches of a killed keeper.
const exitTimeout = time.Second

// removeSockets removes the sockets with the lab's name that nobody listens on. A switch that does is another's, whose name
// happens to begin like the lab's, or, if the lab was written down with it, one that is about to die.
func removeSockets(name, state string) error {
	sockets, err := filepath.Glob(config.LabSocket(name, "*"))
	errs := []error{err}
	own := map[string]bool{}
	if s, ok := readState(state); ok {
		for _, n := range s.Nodes {
			own[n.Socket] = true
		}
	}
	deadline := time.Now().Add(exitTimeout)
	for _, socket := range sockets {
		alive, err := api.RemoveStale(socket)
		for alive && err == nil && own[socket] && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond)
			alive, err = api.RemoveStale(socket)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
