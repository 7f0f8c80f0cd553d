package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
)

// load sends from every sender to the receiver, with iperf3 or, where it is not installed, by the demo's own TCP
// sender.
func (a *hostPhase) load(ctx context.Context) ([]Transfer, error) {
	run, program := a.iperf3, "iperf3"
	if _, err := exec.LookPath(program); err != nil {
		run, program = a.ownTCP, "own"
	}
	var all sync.WaitGroup
	transfers, errs := make([]Transfer, senders), make([]error, senders)
	for i := range senders {
		all.Go(func() {
			t := &transfers[i]
			*t = Transfer{Phase: a.name, Name: fmt.Sprintf("h%d>h%d", i+1, senders+1), Program: program,
				Priority: losslessPriority, Lossless: !a.control}
			if t.Octets, errs[i] = run(ctx, i); errs[i] == nil {
				t.Again, errs[i] = retransmitted(a.nics[i].node)
			}
			t.Rate = int64(float64(t.Octets) * 8 / a.seconds.Seconds())
		})
	}
	all.Wait()
	return transfers, errors.Join(errs...)
}

// retransmitted returns the TCP segments that a node's kernel has retransmitted.
func retransmitted(n *lab.Node) (again uint64, err error) {
	err = n.Do(func() error {
		f, err := os.Open("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		again, err = readRetransSegs(f)
		return err
	})
	return again, err
}

// readRetransSegs finds RetransSegs in the two lines of TCP: names, then values.
func readRetransSegs(r io.Reader) (uint64, error) {
	var names []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] != "Tcp:" {
			continue
		}
		for i, name := range names {
			if name == "RetransSegs" && i < len(fields) {
				return strconv.ParseUint(fields[i], 10, 64)
			}
		}
		names = fields
	}
	return 0, errors.New("the kernel's TCP counters have no RetransSegs")
}

const firstPort = 5201 // of iperf3

// iperf3 sends from sender i and returns how many octets the receiver counted.
func (a *hostPhase) iperf3(ctx context.Context, i int) (octets uint64, err error) {
	to, port := a.nics[senders], firstPort+i
	server, err := a.program(to, nil, "iperf3", "-s", "-1", "-p", fmt.Sprint(port))
	if err != nil {
		return 0, err
	}
	if err := waitListening(ctx, to.node, port); err != nil {
		return 0, fmt.Errorf("iperf3 at %s does not listen: %w: %s", to.name, err, server.Output())
	}
	var out bytes.Buffer
	client, err := a.program(a.nics[i], &out, "iperf3", "-c", hostAddress(senders), "-p", fmt.Sprint(port), "-t",
		fmt.Sprint(int(a.seconds.Seconds())),
		"-S", fmt.Sprint(dscp<<2), "-J")
	if err != nil {
		return 0, err
	}
	select {
	case <-client.Ended():
	case <-ctx.Done():
		return 0, fmt.Errorf("iperf3 at %s did not end: %w", a.nics[i].name, ctx.Err())
	}
	r, err := traffic.ParseIperf(out.Bytes())
	return r.Octets, err
}

var programs sync.Mutex // guards hostAct.programs

func (a *hostPhase) program(at *switchNode, out io.Writer, argv ...string) (*lab.Process, error) {
	p, err := at.node.Start(lab.Command{Name: at.name + ": " + argv[0], Argv: argv, Stdout: out})
	if err == nil {
		programs.Lock()
		a.programs = append(a.programs, p)
		programs.Unlock()
	}
	return p, err
}

// waitListening waits until a TCP port is open at a node.
func waitListening(ctx context.Context, n *lab.Node, port int) error {
	for {
		if open, err := n.Listens(port); open || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ownTCP sends from sender i and returns how many octets arrived.
func (a *hostPhase) ownTCP(ctx context.Context, i int) (octets uint64, err error) {
	l, c, err := a.connect(ctx, i)
	if err != nil {
		return 0, err
	}
	defer func() { _, _ = c.Close(), l.Close() }()
	received := make(chan received, 1)
	go runDrain(l, received)
	if err := writeFor(c, a.seconds); err != nil {
		return 0, err
	}
	_ = c.Close()
	got := <-received
	return got.octets, got.err
}

// burst sends from every sender to the receiver for a moment.
func (a *hostPhase) burst(ctx context.Context, lasts time.Duration) error {
	var all sync.WaitGroup
	errs := make([]error, senders)
	for i := range senders {
		all.Go(func() {
			l, c, err := a.connect(ctx, i)
			if err != nil {
				errs[i] = err
				return
			}
			go runDrain(l, make(chan received, 1))
			errs[i] = writeFor(c, lasts)
			_ = c.SetLinger(0) // drop what waits
			_, _ = c.Close(), l.Close()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// connect connects sender i with a listening socket of the receiver.
func (a *hostPhase) connect(ctx context.Context, i int) (l net.Listener, c *net.TCPConn, err error) {
	if err := a.nics[senders].node.Do(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(hostAddress(senders), "0"))
		return err
	}); err != nil {
		return nil, nil, err
	}
	err = a.nics[i].node.Do(func() error {
		conn, err := (&net.Dialer{Control: markDSCP}).DialContext(ctx, "tcp", l.Addr().String())
		if err == nil {
			c = conn.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	return l, c, nil
}

// writeFor writes for a while without a pause.
func writeFor(c net.Conn, lasts time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(lasts)); err != nil {
		return err
	}
	b := make([]byte, 128<<10)
	for {
		if _, err := c.Write(b); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

type received struct {
	octets uint64
	err    error
}

// runDrain accepts one connection and reads it to its end.
func runDrain(l net.Listener, done chan<- received) {
	c, err := l.Accept()
	if err != nil {
		done <- received{err: err}
		return
	}
	defer func() { _ = c.Close() }()
	n, err := io.Copy(io.Discard, c)
	done <- received{uint64(n), err}
}

// markDSCP gives a socket the DSCP of the lossless priority before it sends its first frame.
func markDSCP(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, dscp<<2) })
	return errors.Join(err, failed)
}
