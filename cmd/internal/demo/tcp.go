package demo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
)

// sendTCP sends from every sender to the receiver, with iperf3 or, where it is not installed, by the demo's own TCP
// sender.
func (p *phase) sendTCP(ctx context.Context) error {
	run, program := p.iperf3, "iperf3"
	if _, err := exec.LookPath(program); err != nil {
		run, program = p.ownTCP, "own"
	}
	p.transfers = make([]Transfer, senders)
	return concurrently(senders, func(i int) (err error) {
		t := &p.transfers[i]
		*t = Transfer{Phase: p.name, Name: fmt.Sprintf("h%d>h%d", i+1, senders+1), Program: program,
			Priority: losslessPriority, Lossless: !p.control}
		if t.Octets, err = run(ctx, i); err != nil {
			return err
		}
		t.Rate = int64(float64(t.Octets) * 8 / p.seconds.Seconds())
		t.Retransmitted, err = retransmitted(p.nic(i).node)
		return err
	})
}

// retransmitted returns the TCP segments that a node's kernel has retransmitted.
func retransmitted(n *lab.Node) (segments uint64, err error) {
	err = n.Do(func() error {
		f, err := os.Open("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		segments, err = readRetransSegs(f)
		return err
	})
	return segments, err
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

// iperf3 sends from sender i and returns how many octets the receiver counted. The lab ends a server that is left.
func (p *phase) iperf3(ctx context.Context, i int) (octets uint64, err error) {
	to, from, tcpPort := p.nic(senders), p.nic(i), firstPort+i
	server, err := to.node.Start(lab.Command{Argv: []string{"iperf3", "-s", "-1", "-p", fmt.Sprint(tcpPort)}})
	if err != nil {
		return 0, err
	}
	if err := poll(ctx, func() (bool, error) { return to.node.Listens(tcpPort) }); err != nil {
		return 0, fmt.Errorf("iperf3 at %s does not listen: %w: %s", to.name, err, server.Output())
	}
	var out bytes.Buffer
	client, err := from.node.Start(lab.Command{Stdout: &out, Argv: []string{"iperf3", "-c", hostAddress(senders), "-p",
		fmt.Sprint(tcpPort), "-t", fmt.Sprint(int(p.seconds.Seconds())), "-S", fmt.Sprint(dscp << 2), "-J"}})
	if err != nil {
		return 0, err
	}
	select {
	case <-client.Ended():
	case <-ctx.Done():
		return 0, fmt.Errorf("iperf3 at %s did not end: %w", from.name, context.Cause(ctx))
	}
	r, err := traffic.ParseIperf(out.Bytes())
	return r.Octets, err
}

// ownTCP sends from sender i and returns how many octets arrived meanwhile.
func (p *phase) ownTCP(ctx context.Context, i int) (octets uint64, err error) {
	l, c, err := p.connect(ctx, i)
	if err != nil {
		return 0, err
	}
	defer func() { _, _ = c.Close(), l.Close() }()
	until := time.Now().Add(p.seconds)
	arrived := make(chan received, 1)
	go runDrain(ctx, l, until, arrived)
	if err := writeUntil(c, until); err != nil {
		return 0, cmp.Or(context.Cause(ctx), err)
	}
	_ = c.Close()
	select {
	case got := <-arrived:
		return got.octets, got.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// burst sends from every sender to the receiver for a moment.
func (p *phase) burst(ctx context.Context) error {
	return concurrently(senders, func(i int) error {
		l, c, err := p.connect(ctx, i)
		if err != nil {
			return err
		}
		until := time.Now().Add(trialLoad)
		go runDrain(ctx, l, until, make(chan received, 1))
		err = writeUntil(c, until)
		_ = c.SetLinger(0) // drop what waits
		_, _ = c.Close(), l.Close()
		return err
	})
}

// connect connects sender i with a listening socket of the receiver. Both are closed when ctx ends.
func (p *phase) connect(ctx context.Context, i int) (l net.Listener, c *net.TCPConn, err error) {
	if err := p.nic(senders).node.Do(func() (err error) {
		l, err = net.Listen("tcp", net.JoinHostPort(hostAddress(senders), "0"))
		return err
	}); err != nil {
		return nil, nil, err
	}
	err = p.nic(i).node.Do(func() error {
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
	context.AfterFunc(ctx, func() { _, _ = c.Close(), l.Close() })
	return l, c, nil
}

// writeUntil writes until a moment without a pause.
func writeUntil(c net.Conn, until time.Time) error {
	if err := c.SetDeadline(until); err != nil {
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

// runDrain accepts one connection and reads it to its end, or until ctx ends. It counts what has come until a moment:
// what was queued then comes later, and would make the rate too high.
func runDrain(ctx context.Context, l net.Listener, until time.Time, done chan<- received) {
	c, err := l.Accept()
	if err != nil {
		done <- received{err: err}
		return
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	n, err := readUntil(c, until)
	done <- received{n, err}
}

// readUntil reads a connection to its end and returns the octets that came until a moment.
func readUntil(c net.Conn, until time.Time) (octets uint64, err error) {
	if err := c.SetReadDeadline(until); err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, c)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return uint64(n), err
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, c)
	return uint64(n), err
}

// markDSCP gives a socket the DSCP of the lossless priority before it sends its first frame.
func markDSCP(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, dscp<<2) })
	return errors.Join(err, failed)
}
