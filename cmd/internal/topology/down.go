package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
)

// ErrNotUp is the error where there is no such lab.
var ErrNotUp = errors.New("is not up")

// grace is how long a keeper may take to end its lab before it is killed.
const stopTimeout = 10 * time.Second

// Down takes a lab down, by the file of its topology or its name: all of it, whoever of its processes was killed before.
func Down(ctx context.Context, argument string, out io.Writer) error {
	name, err := nameOf(argument)
	if err != nil {
		return err
	}
	path, err := statePath(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("lab %s %w", name, ErrNotUp), removeLeftovers(name, path))
	}
	said, err := os.Open(logPath(path)) // now: a keeper that ends removes it
	if err == nil {
		defer func() { _ = said.Close() }()
	}
	lock, err := lab.LockFile(path)
	killed := err == nil
	if errors.Is(err, unix.EWOULDBLOCK) {
		lock, err = stopKeeper(ctx, name, path)
	}
	if err != nil {
		return fmt.Errorf("lab %s: %w", name, err)
	}
	defer func() { _ = lock.Close() }()
	if err := errors.Join(removeLeftovers(name, path), removeState(path)); err != nil {
		return err
	}
	how := " is down"
	if killed {
		how = ": its keeper was killed; what it left is gone"
	}
	if _, err := fmt.Fprintf(out, "lab %s%s\n", name, how); err != nil {
		return err
	}
	return printLog(said, out)
}

// printLog tells what the keeper of a lab said, where it said anything.
func printLog(said *os.File, out io.Writer) error {
	if said == nil {
		return nil
	}
	text, err := io.ReadAll(said)
	if err != nil || len(text) == 0 {
		return err
	}
	_, err = fmt.Fprintf(out, "its keeper said:\n%s", text)
	return err
}

// stopKeeper makes the keeper end its lab and returns the lock that it had.
func stopKeeper(ctx context.Context, name, path string) (*os.File, error) {
	s, ok := readState(path)
	for began := time.Now(); !ok && time.Since(began) < time.Second; time.Sleep(10 * time.Millisecond) {
		s, ok = readState(path) // the keeper has just begun
	}
	if !ok {
		return nil, errors.New("it is being brought up or taken down at this moment: try again")
	}
	keeper, err := unix.PidfdOpen(s.Keeper, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	if err == nil {
		defer func() { _ = unix.Close(keeper) }()
	}
	// The lock is held after the process was pinned: it is the one that wrote its number there.
	if lock, err := lab.LockFile(path); err == nil {
		return lock, nil
	}
	_ = unix.PidfdSendSignal(keeper, unix.SIGTERM, nil, 0)
	for deadline := time.Now().Add(stopTimeout); ; {
		lock, err := lab.LockFile(path)
		switch {
		case !errors.Is(err, unix.EWOULDBLOCK):
			return lock, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Now().After(deadline):
			_ = unix.PidfdSendSignal(keeper, unix.SIGKILL, nil, 0)
			deadline = time.Now().Add(stopTimeout)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
