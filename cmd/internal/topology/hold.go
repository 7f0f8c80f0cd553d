package topology

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// A runningLab is a lab as its keeper sees it.
type runningLab struct {
	topology *config.Topology
	lab      *lab.Lab
	folder   string // for its switches' configurations
	nodes    map[string]*lab.Node
	daemons  []*daemon
	state    State
	requests net.Listener // nil before it takes some
	serving  sync.WaitGroup
}

// A daemon is a switch or a host NIC.
type daemon struct {
	node     string
	file     string // its configuration
	process  *lab.Process
	failures *failures // of the process
	client   *api.Client
}

// failures are what a process with several switches says of those that do not run. They go to the keeper's log.
type failures struct {
	sync.Mutex
	all strings.Builder
}

// Write implements io.Writer.
func (f *failures) Write(b []byte) (int, error) {
	f.Lock()
	defer f.Unlock()
	log.Print(string(b))
	return f.all.Write(b)
}

func (f *failures) text() string {
	f.Lock()
	defer f.Unlock()
	return strings.TrimSpace(f.all.String())
}

// Hold is the keeper: it builds the lab of a file, or one part of it, answers to the Up that started it, and keeps the
// lab until ctx ends.
func Hold(ctx context.Context, file, part string, inProcess bool, scale float64) error {
	unix.CloseOnExec(lockFD)
	unix.CloseOnExec(answerFD)
	lock, to := os.NewFile(lockFD, "state"), os.NewFile(answerFD, "answer")
	defer func() { _ = lock.Close() }()   // not before: Go closes a file that nobody refers to
	if err := os.Chdir("/"); err != nil { // so that no folder is kept from being unmounted
		return err
	}
	k, err := hold(ctx, file, part, inProcess, scale, lock)
	if err == nil {
		err = json.NewEncoder(to).Encode(answer{State: k.state}) // fails where Up has died: then nobody wants the lab
	}
	if err == nil {
		err = k.state.write(lock)
	}
	if err == nil {
		_ = to.Close()
		debug.FreeOSMemory() // the keeper only waits now
		<-ctx.Done()
		return k.close()
	}
	err = errors.Join(err, k.close())
	_ = json.NewEncoder(to).Encode(answer{Error: err.Error()}) // Up may have died
	return err
}

func hold(ctx context.Context, file, part string, inProcess bool, scale float64, lock *os.File) (k *runningLab,
	err error) {
	k = &runningLab{nodes: map[string]*lab.Node{}}
	_, inside, err := lab.Enter(nil)
	if err == nil && !inside {
		err = errors.New("the keeper of a lab is started by \"pfcswitch lab up FILE\"")
	}
	if err != nil {
		return k, err
	}
	if k.topology, err = load(file, part, scale); err != nil {
		return k, err
	}
	k.state = State{Schema: 1, Name: k.topology.Name, File: file, Part: part, Keeper: os.Getpid(), InProcess: inProcess,
		Scale: scale, Version: version(), Nodes: []Node{}, Links: len(k.topology.Links) + len(k.topology.Tunnels)}
	if err := k.state.write(lock); err != nil {
		return k, err
	}
	if k.lab, err = lab.New(context.WithoutCancel(ctx), k.topology.Name); err != nil {
		return k, err
	}
	if err := k.build(ctx); err != nil {
		return k, err
	}
	for i := range k.daemons {
		if i == 0 || !k.state.InProcess { // else it is the process of the first one
			k.watch(ctx, i)
		}
	}
	return k, k.takeRequests(ctx)
}

// watch logs the end of the process of a daemon.
func (k *runningLab) watch(ctx context.Context, i int) {
	what := k.daemons[i].node + " has"
	if k.state.InProcess {
		what = "all switches have"
	}
	go runWatch(ctx, k.daemons[i].process, what)
}

// close ends the lab and leaves nothing behind.
func (k *runningLab) close() error {
	if k.requests != nil {
		_ = k.requests.Close()
		k.serving.Wait() // no switch starts any more
	}
	if k.lab == nil {
		return nil
	}
	err := k.lab.Close()
	if k.folder != "" {
		err = errors.Join(err, os.RemoveAll(k.folder))
	}
	path, pathErr := statePath(k.topology.Name)
	if pathErr == nil {
		pathErr = removeState(path)
	}
	return errors.Join(err, pathErr)
}

// removeState removes the state file of a lab and the log of its keeper. Where a user namespace hides the folder from
// the keeper, Down removes them.
func removeState(path string) error {
	var errs []error
	for _, p := range []string{logPath(path), path} {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// runWatch logs why a switch ended unexpectedly, or all of a process: what names them.
func runWatch(ctx context.Context, p *lab.Process, what string) {
	select {
	case <-ctx.Done():
	case <-p.Ended():
		if ctx.Err() == nil {
			log.Printf("%s ended: %v", what, p.Wait())
		}
	}
}

// configFolder is where the configurations of a lab's switches are.
func configFolder(name string) string { return filepath.Join(lab.Folder, "lab-"+name) }
