package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
)

// A network is a switch's namespace and those of its hosts:
//
//	h1 eth0 ── p1 ┐
//	h2 eth0 ── p2 ┤ switch
//	   …          ┘
type network struct {
	b       *bench
	name    string
	dut     string // the switch, as results call it
	lab     *lab.Lab
	sw      *lab.Node
	hosts   []*lab.Node // host n is [n-1]
	taps    []tap
	daemons []*program
	socket  string // pfcswitch's

	withoutOffloads bool // nothing arrives with the hosts' defaults
}

func hostMAC(n int) net.HardwareAddr { return net.HardwareAddr{0x02, 0, 0, 0, 0, byte(n)} }

func mac(n int) string { return hostMAC(n).String() }

// newNetwork makes the namespaces and links of a switch with hosts. The end of the part closes the network.
func (b *bench) newNetwork(name, dut string, hosts int) (*network, error) {
	n := &network{b: b, name: name, dut: dut}
	b.networks = append(b.networks, n)
	if err := n.build(hosts); err != nil {
		return nil, fmt.Errorf("network %s: %w", name, err)
	}
	return n, nil
}

// startNetwork makes a network and starts its switch. yaml is pfcswitch's configuration.
func (b *bench) startNetwork(name, dut string, hosts int, yaml string) (*network, error) {
	n, err := b.newNetwork(name, dut, hosts)
	if err != nil {
		return nil, err
	}
	switch dut {
	case dutPFC:
		err = n.startPFC(yaml)
	case dutBridge:
		err = n.startBridge()
	default:
		err = n.startOVS(dut == dutOVSTSO)
	}
	return n, err
}

func (n *network) build(hosts int) (err error) {
	if n.lab, err = lab.New(n.b.ctx, "bench."+strings.ReplaceAll(n.name, "-", "_")); err != nil {
		return err
	}
	if n.sw, err = n.lab.Node("switch"); err != nil {
		return err
	}
	for i := 1; i <= hosts; i++ {
		h, err := n.lab.Node(fmt.Sprintf("h%d", i))
		if err != nil {
			return err
		}
		n.hosts = append(n.hosts, h)
		o := lab.LinkOptions{MACs: [2]net.HardwareAddr{nil, hostMAC(i)}}
		if err := n.lab.Link(n.sw, fmt.Sprintf("p%d", i), h, "eth0", o); err != nil {
			return err
		}
	}
	return nil
}

// close ends all programs of the network and deletes it; a second time it does nothing.
func (n *network) close() error {
	for _, fd := range n.taps {
		_ = unix.Close(int(fd))
	}
	n.taps = nil
	if n.lab == nil {
		return nil
	}
	return n.lab.Close()
}

// daemon runs a program that belongs to the switch until the network is closed.
func (n *network) daemon(c lab.Command) (*program, error) {
	p, err := n.b.startWith(n.sw, c)
	if err == nil {
		n.daemons = append(n.daemons, p)
	}
	return p, err
}

// alive returns an error where a daemon of the switch has ended.
func (n *network) alive() (err error) {
	for _, d := range n.daemons {
		err = errors.Join(err, d.alive())
	}
	return err
}

// A program is a process at a node whose standard output is kept. It dies with the benchmark, however that ends.
type program struct {
	*lab.Process
	stdout bytes.Buffer // to be read when the process has ended
}

// Bounds of the time that programs take.
const (
	patience     = 30 * time.Second // of those that should end at once
	stopPatience = 3 * time.Second  // between SIGTERM and SIGKILL
)

func (b *bench) start(at *lab.Node, argv ...string) (*program, error) {
	return b.startWith(at, lab.Command{Argv: argv})
}

func (b *bench) startWith(at *lab.Node, c lab.Command) (p *program, err error) {
	p = &program{}
	c.Stdout, c.Untimed = &p.stdout, true
	p.Process, err = at.Start(c) // ErrClosed after the end of b.ctx
	return p, err
}

// alive returns an error where the program has ended, which should still be at work.
func (p *program) alive() error {
	select {
	case <-p.Ended():
		return errors.Join(fmt.Errorf("%s ended by itself", p.Name()), p.Wait())
	default:
		return nil
	}
}

func (p *program) stop() { _ = p.Stop(syscall.SIGTERM, stopPatience) } // how it ends does not matter

// wait waits for the end of a program, at most for the given time, and returns what it printed.
func (b *bench) wait(p *program, most time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.ctx, most)
	defer cancel()
	if err := p.Finish(ctx); err != nil {
		p.stop()
		return p.stdout.Bytes(), err
	}
	return p.stdout.Bytes(), nil
}

// report is wait, and reads what the program printed as JSON.
func (b *bench) report(p *program, most time.Duration, into any) error {
	text, err := b.wait(p, most)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("report of %s: %w", p.Name(), err)
	}
	return nil
}

// do runs a program at a node to its end and returns what it printed.
func (b *bench) do(at *lab.Node, argv ...string) (string, error) {
	p, err := b.start(at, argv...)
	if err != nil {
		return "", err
	}
	out, err := b.wait(p, patience)
	return string(out), err
}

// received returns how many frames have arrived at host 2.
func (n *network) received() (uint64, error) {
	s, err := n.hosts[1].Stats("eth0")
	return s.ReceivedFrames, err
}

// commands runs programs, each with its words, at a node to their ends.
func (b *bench) commands(at *lab.Node, all ...string) error {
	for _, c := range all {
		if _, err := b.do(at, strings.Fields(c)...); err != nil {
			return err
		}
	}
	return nil
}

// local runs a program outside of all networks to its end, at most for the given time, and returns what it printed.
func (b *bench) local(most time.Duration, env []string, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.ctx, most)
	defer cancel()
	return local(ctx, env, argv...)
}

// local is that of a bench, until ctx ends.
func local(ctx context.Context, env []string, argv ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(syscall.SIGTERM) }, stopPatience
	out, err := c.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", argv[0], err)
	}
	return out, err
}

// A job is a program outside of all networks that runs beside others.
type job struct {
	ended chan struct{} // closed when out and err are set
	out   []byte        // what it printed
	err   error
}

// startJob starts a program, which runs to its end, or until ctx ends.
func startJob(ctx context.Context, argv ...string) *job {
	j := &job{ended: make(chan struct{})}
	go j.run(ctx, argv)
	return j
}

func (j *job) run(ctx context.Context, argv []string) {
	j.out, j.err = local(ctx, nil, argv...)
	close(j.ended)
}

func (j *job) hasEnded() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// failed returns why a job that should still be at work has ended.
func (j *job) failed() error {
	if !j.hasEnded() {
		return nil
	}
	return cmp.Or(j.err, errors.New("a program ended by itself"))
}
