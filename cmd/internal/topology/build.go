package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
)

// readyTimeout is the time until all switches of a lab without links must forward, and stopTimeout the time in which
// they end. linkTime is what each link may add: the kernel attaches the programs of all ports one after the other, and
// detaches them so, in 11 ms each on an idle machine.
const (
	readyTimeout = 20 * time.Second
	stopTimeout  = 2 * time.Second
	linkTime     = 100 * time.Millisecond
)

// build makes nodes and links, starts switches and host NICs, and waits until each forwards.
func (k *runningLab) build(ctx context.Context) error {
	if err := k.connect(ctx); err != nil {
		return err
	}
	k.folder = configFolder(k.topology.Name)
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return err
	}
	for _, s := range k.topology.Switches {
		if err := k.addDaemon(s.Name, "switch", s.Config); err != nil {
			return err
		}
	}
	for _, h := range k.topology.Hosts {
		if err := k.configureHost(h); err != nil {
			return err
		}
	}
	if err := k.startDaemons(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+k.linkTime())
	defer cancel()
	return k.waitReady(ctx)
}

// askedAtOnce is how many switches are asked at the same time whether they forward.
const askedAtOnce = 8

// waitReady waits until every port of every switch and host NIC is in service, and returns the first error.
func (k *runningLab) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left, errs := make(chan *daemon, len(k.daemons)), make(chan error, len(k.daemons))
	for _, d := range k.daemons {
		left <- d
	}
	close(left)
	var asking sync.WaitGroup
	for range askedAtOnce {
		asking.Go(func() {
			for d := range left {
				if err := d.waitReady(ctx); err != nil {
					errs <- err
					cancel()
				}
			}
		})
	}
	asking.Wait()
	close(errs)
	return <-errs
}

// linkTime is what the links add to the time in which the switches start, or end.
func (k *runningLab) linkTime() time.Duration { return time.Duration(k.state.Links) * linkTime }

// connect makes nodes and the links between them.
func (k *runningLab) connect(ctx context.Context) error {
	macs := map[string]net.HardwareAddr{}
	for i, h := range k.topology.Hosts {
		macs[h.Name] = k.topology.Address(i)
	}
	for _, name := range k.topology.Nodes() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := k.lab.Node(name)
		if err != nil {
			return err
		}
		k.nodes[name] = n
	}
	for _, l := range k.topology.Links {
		o := lab.LinkOptions{MTU: l.MTU}
		for i, end := range l.Ends {
			if end.Interface == "eth0" {
				o.MACs[i] = macs[end.Node]
			}
		}
		a, b := l.Ends[0], l.Ends[1]
		if err := k.lab.Link(k.nodes[a.Node], a.Interface, k.nodes[b.Node], b.Interface, o); err != nil {
			return fmt.Errorf("link %s: %w", l.Name, err)
		}
	}
	return k.connectParts(macs)
}

// configureHost gives a host its addresses, or its host NIC.
func (k *runningLab) configureHost(h config.LabHost) error {
	if h.NIC != nil {
		return k.addDaemon(h.Name, "nic", h.NIC)
	}
	for _, a := range h.Addresses {
		if err := k.nodes[h.Name].AddAddr("eth0", a.String()); err != nil {
			return err
		}
	}
	k.addNode(h.Name, "host", "")
	return nil
}

// addDaemon adds the switch or host NIC of a node, which startDaemons starts.
func (k *runningLab) addDaemon(name, kind string, c *config.Config) error {
	path := filepath.Join(k.folder, name+".yaml")
	if err := os.WriteFile(path, config.Expand(c), 0o600); err != nil {
		return err
	}
	k.daemons = append(k.daemons, &daemon{node: name, client: api.NewClient(c.API.Socket), file: path})
	k.addNode(name, kind, c.API.Socket)
	return nil
}

// startDaemons starts all switches and host NICs: each in a process, or all in one, which lives in the namespace of the
// first one.
func (k *runningLab) startDaemons() error {
	if len(k.daemons) == 0 {
		return nil
	}
	if k.state.InProcess {
		return k.startAll()
	}
	for i := range k.daemons {
		if err := k.startOne(i); err != nil {
			return err
		}
	}
	return nil
}

func (k *runningLab) startAll() error {
	args := []string{"run"}
	for _, d := range k.daemons {
		args = append(args, "-c", d.file, "--netns", k.nodes[d.node].Path())
	}
	return k.start(k.daemons, args)
}

func (k *runningLab) startOne(i int) error {
	return k.start(k.daemons[i:i+1], []string{"run", "-c", k.daemons[i].file})
}

// start starts a process that runs daemons.
func (k *runningLab) start(all []*daemon, args []string) error {
	failures := new(failures)
	p, err := k.nodes[all[0].node].Start(lab.Command{Name: "pfcswitch", Argv: append([]string{lab.Self}, args...),
		Untimed: true, Stdout: failures, Grace: stopTimeout + k.linkTime()})
	if err != nil {
		return err
	}
	for _, d := range all {
		d.process, d.failures = p, failures
	}
	return nil
}

// addNode adds a node to the state, with its command and socket as the user of Up reaches them. Where Up ran outside of
// the keeper's user namespace, both lead through the keeper's /proc folder.
func (k *runningLab) addNode(name, kind, socket string) {
	node := k.nodes[name]
	if socket != "" {
		socket = seenFromOutside(socket)
	}
	k.state.Nodes = append(k.state.Nodes, Node{Name: name, Kind: kind, Namespace: node.Namespace(),
		Enter: node.Enter(outsideUserNamespace()), Socket: socket})
}

// seenFromOutside is the path of a socket for the user of Up.
func seenFromOutside(socket string) string {
	if outsideUserNamespace() {
		return fmt.Sprintf("/proc/%d/root%s", os.Getpid(), socket)
	}
	return socket
}

// outsideUserNamespace tells whether the Up that started the keeper is in another user namespace, which the keeper may
// not be allowed to read.
func outsideUserNamespace() bool {
	own, err := os.Readlink("/proc/self/ns/user")
	starter, denied := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", os.Getppid()))
	return err != nil || denied != nil || own != starter
}

// waitReady waits until every port of a daemon is in service.
func (d *daemon) waitReady(ctx context.Context) error {
	waiting := "its control socket"
	for {
		r, err := d.client.Show(ctx, "health")
		if h, ok := r.(*api.Health); err == nil && ok {
			if h.Ready {
				return nil
			}
			waiting = strings.TrimSpace(h.Text())
		}
		if text := d.failures.text(); text != "" {
			return errors.New(text)
		}
		select {
		case <-d.process.Ended():
			return fmt.Errorf("%s does not run: %w", d.node, d.process.Wait())
		case <-ctx.Done():
			return fmt.Errorf("%s does not forward (%w): waiting for %s; it said: %s", d.node, ctx.Err(), waiting,
				d.process.Output())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
