package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// ErrNotUp is the error where there is no such lab.
var ErrNotUp = errors.New("is not up")

var errBusy = errors.New("it is being brought up or taken down at this moment: try again")

// keeperTimeout is how long a keeper may take to end a lab without links before it is killed.
const keeperTimeout = 10 * time.Second

// Down takes a lab down, or one part of it, by the file of its topology or its name. It removes everything, also where
// processes of the lab were killed.
func Down(ctx context.Context, argument, part string, out io.Writer) error {
	name, err := nameOf(argument, part)
	if err != nil {
		return err
	}
	path, err := statePath(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("lab %s %w%s", name, ErrNotUp, partsUp(path)), removeLeftovers(name, State{}))
	}
	log, err := lab.OpenOwn(logPath(path), os.O_RDONLY) // before the keeper ends, which removes the file
	if err == nil {
		defer func() { _ = log.Close() }()
	}
	lock, err := lab.LockFile(path)
	killed := err == nil
	if errors.Is(err, unix.EWOULDBLOCK) {
		lock, err = stopKeeper(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("lab %s: %w", name, err)
	}
	defer func() { _ = lock.Close() }()
	left, _ := readState(path)
	if err := errors.Join(removeLeftovers(name, left), removeState(path)); err != nil {
		return err
	}
	how := " is down"
	if killed {
		how = ": its keeper was killed; what it left is gone"
	}
	if _, err := fmt.Fprintf(out, "lab %s%s\n", name, how); err != nil {
		return err
	}
	return printLog(log, out)
}

// partsUp says which parts of a lab are up where the whole lab is not; path is the state file of the whole.
func partsUp(path string) string {
	files, _ := filepath.Glob(strings.TrimSuffix(path, "json") + "*.json")
	var parts []string
	for _, file := range files {
		if s, ok := readState(file); ok && s.Part != "" {
			parts = append(parts, s.Part)
		}
	}
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(": of its parts, %s is up: --part %[1]s", parts[0])
	}
	return fmt.Sprintf(": of its parts, %s are up: --part %s, and so on", strings.Join(parts, " and "), parts[0])
}

// printLog prints the output of a lab's keeper, if any.
func printLog(log *os.File, out io.Writer) error {
	if log == nil {
		return nil
	}
	text, err := io.ReadAll(log)
	if err != nil || len(text) == 0 {
		return err
	}
	_, err = fmt.Fprintf(out, "its keeper said:\n%s", text)
	return err
}

// stopKeeper makes the keeper end its lab and returns the lock that it had.
func stopKeeper(ctx context.Context, path string) (*os.File, error) {
	s, ok := readState(path)
	for began := time.Now(); !ok && time.Since(began) < time.Second; time.Sleep(10 * time.Millisecond) {
		s, ok = readState(path) // the keeper has just begun
	}
	if !ok {
		return nil, errBusy
	}
	keeper, err := unix.PidfdOpen(s.Keeper, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	if err == nil {
		defer func() { _ = unix.Close(keeper) }()
	}
	// The lock was still held after pidfd_open, so the pidfd is that of the process that wrote its number into the
	// file.
	if lock, err := lab.LockFile(path); err == nil {
		return lock, nil
	}
	_ = unix.PidfdSendSignal(keeper, unix.SIGTERM, nil, 0)
	patience := keeperTimeout + time.Duration(s.Links)*linkTime
	for deadline := time.Now().Add(patience); ; {
		lock, err := lab.LockFile(path)
		switch {
		case !errors.Is(err, unix.EWOULDBLOCK):
			return lock, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case keeper < 0 && time.Now().After(deadline): // it is dead, and others have the lock
			return nil, errBusy
		case time.Now().After(deadline):
			_ = unix.PidfdSendSignal(keeper, unix.SIGKILL, nil, 0)
			deadline = time.Now().Add(patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// removeLeftovers removes what is left of a lab whose keeper was killed; s is its state, if it is known.
func removeLeftovers(name string, s State) error {
	if os.Geteuid() != 0 {
		return nil // the kernel removed the keeper's namespaces and everything in them
	}
	err := errors.Join(lab.Sweep(), os.RemoveAll(configFolder(name)), removeSockets(name, s))
	if err != nil {
		return fmt.Errorf("lab %s: clear away what a killed one left: %w", name, err)
	}
	return nil
}

// exitTimeout is the time in which the kernel ends the switches of a killed keeper, and linkTime more for each link.
const exitTimeout = time.Second

// removeSockets removes the sockets with the lab's name that nobody listens on. A switch that listens either belongs to
// somebody else, or is in the lab's state and about to end.
func removeSockets(name string, s State) error {
	sockets, err := filepath.Glob(config.LabSocket(name, "*"))
	errs := []error{err}
	own := map[string]bool{}
	for _, n := range s.Nodes {
		own[n.Socket] = true
	}
	deadline := time.Now().Add(exitTimeout + time.Duration(s.Links)*linkTime)
	for _, socket := range sockets {
		alive, err := api.RemoveStale(socket)
		for alive && err == nil && own[socket] && time.Now().Before(deadline) {
			time.Sleep(5 * time.Millisecond)
			alive, err = api.RemoveStale(socket)
		}
		if alive && err == nil && own[socket] {
			err = fmt.Errorf("the switch of %s is still about to end: pfcswitch lab down %s again", socket, name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
