package lab_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// twoHosts makes h1:eth0 — eth0:h2.
func twoHosts(t *testing.T, o lab.LinkOptions) (l *lab.Lab, h1, h2 *lab.Node) {
	t.Helper()
	l = labtest.New(t, "two")
	h1, h2 = labtest.Node(t, l, "h1"), labtest.Node(t, l, "h2")
	assert.Must(t, l.Link(h1, "eth0", h2, "eth0", o))
	return l, h1, h2
}

func TestLinkCarriesFramesAndCounts(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	_, h1, h2 := twoHosts(t, lab.LinkOptions{MTU: 4000, MACs: [2]net.HardwareAddr{mac, nil}})
	assert.Must(t, h1.AddAddr("eth0", "10.0.0.1/24"))
	assert.Must(t, h2.AddAddr("eth0", "10.0.0.2/24"))

	if got, err := h1.MAC("eth0"); err != nil || got.String() != mac.String() {
		t.Errorf("MAC of h1: got %v, %v, want %v", got, err, mac)
	}
	before := assert.Got(h2.Stats("eth0")).Must(t)
	assert.True(t, before.ReceivedFrames == 0 && before.SentFrames == 0,
		"an idle link has carried frames, so IPv6 is not off: %+v", before)

	const size = 3900 // fits into one frame only because the MTU is 4000
	got := exchange(t, h1, h2, size)
	assert.Equal(t, got, size, "received bytes")
	after := assert.Got(h2.Stats("eth0")).Must(t)
	if want := uint64(size + 8 + 20 + 14); after.ReceivedBytes < want || after.ReceivedFrames != 2 {
		t.Errorf("h2 received %d frames, %d bytes, want 2 frames (ARP and data), at least %d bytes",
			after.ReceivedFrames, after.ReceivedBytes, want)
	}
}

// exchange sends one datagram from h1 (any address) to h2 (10.0.0.2) and returns the size that arrived.
func exchange(t *testing.T, h1, h2 *lab.Node, size int) int {
	t.Helper()
	var in, out *net.UDPConn
	assert.Must(t, h2.Do(func() (err error) {
		in, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 4791})
		return err
	}))
	defer in.Close()
	assert.Must(t, h1.Do(func() (err error) {
		out, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 4791})
		return err
	}))
	defer out.Close()
	if _, err := out.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	assert.Must(t, in.SetReadDeadline(time.Now().Add(10*time.Second)))
	return assert.Got(in.Read(make([]byte, 1<<16))).Must(t)
}

func TestLinkDownUpDelete(t *testing.T) {
	_, h1, h2 := twoHosts(t, lab.LinkOptions{})
	carrier := func(n *lab.Node) bool {
		return assert.Got(n.Carrier("eth0")).Must(t)
	}
	assert.MustBeTrue(t, carrier(h1) && carrier(h2), "carrier of a new link: h1 %v, h2 %v, want both", carrier(h1),
		carrier(h2))
	assert.Must(t, h1.LinkDown("eth0"))
	labtest.Eventually(t, "h2 lost its carrier", func() bool { return !carrier(h2) })
	assert.Must(t, h1.LinkUp("eth0"))
	labtest.Eventually(t, "h2 has it back", func() bool { return carrier(h1) && carrier(h2) })

	assert.Must(t, h2.DeleteLink("eth0"))
	for _, n := range []*lab.Node{h1, h2} {
		_, err := n.Stats("eth0")
		assert.True(t, err != nil, "%s still has eth0", n.Name())
	}
}

func TestDo(t *testing.T) {
	l := labtest.New(t, "do")
	n := labtest.Node(t, l, "n")
	own, outside := "", ""
	assert.Must(t, n.Do(func() (err error) { own, err = interfaces(); return err }))
	assert.Equal(t, own, "lo", "interfaces inside, want lo alone")
	assert.Must(t, l.Link(n, "in", labtest.Node(t, l, "m"), "out", lab.LinkOptions{}))
	assert.Must(t, n.Do(func() (err error) { own, err = interfaces(); return err }))
	outside, err := interfaces()
	assert.Must(t, err)
	assert.True(t, own == "lo in" && !strings.Contains(outside, "in"),
		"inside: %q, want \"lo in\"; outside: %q, want no \"in\"", own, outside)
	assert.Must(t, n.Do(func() error {
		listener, err := net.Listen("tcp", "127.0.0.1:5201")
		if err == nil {
			t.Cleanup(func() { _ = listener.Close() })
		}
		return err
	}))
	for tcpPort, want := range map[int]bool{5201: true, 5202: false} {
		if open, err := n.Listens(tcpPort); open != want || err != nil {
			t.Errorf("port %d is open: %v, %v, want %v", tcpPort, open, err, want)
		}
	}
	err = n.Do(func() error { return unix.EBADMSG })
	assert.True(t, errors.Is(err, unix.EBADMSG), "the function's error: got %v, want EBADMSG", err)
	assert.True(t, n.Do(func() error { runtime.Goexit(); return nil }) != nil,
		"a function that ended its goroutine: got nil, want an error")
}

func interfaces() (string, error) {
	ifs, err := net.Interfaces()
	var names []string
	for _, i := range ifs {
		names = append(names, i.Name)
	}
	return strings.Join(names, " "), err
}

func TestProcessRunsInsideNode(t *testing.T) {
	l, h1, _ := twoHosts(t, lab.LinkOptions{})
	p := assert.Got(h1.Start(runRole("interfaces"))).Must(t)
	assert.Must(t, p.Wait())
	assert.Equal(t, p.Output(), "lo\neth0\n", "the process saw")
	assert.Must(t, l.Close())
	goleak.VerifyNone(t)
}

// However many nodes and processes a lab has, one thread is theirs: the one that forks.
func TestLabHasOneThread(t *testing.T) {
	l := labtest.New(t, "threads")
	var all []*lab.Process
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		all = append(all, assert.Got(labtest.Node(t, l, name).Start(runRole("wait"))).Must(t))
	}
	labtest.Eventually(t, "one thread in a node, and none that waits for a process", func() bool {
		inside, waiting := ownThreads(t)
		return inside == 1 && waiting == 0
	})
	for _, p := range all {
		assert.True(t, alive(p.Pid()), "a process has ended: %s", p.Output())
	}
	assert.Must(t, all[0].Stop(syscall.SIGTERM, 10*time.Second))
}

// ownThreads counts this process's threads that are in another network namespace than its first one, and those in
// waitid.
func ownThreads(t *testing.T) (elsewhere, waiting int) {
	home := assert.Got(os.Readlink("/proc/self/ns/net")).Must(t)
	tasks := assert.Got(filepath.Glob("/proc/self/task/*")).Must(t)
	for _, task := range tasks {
		ns, err := os.Readlink(task + "/ns/net") // the thread may have ended
		if err == nil && ns != home {
			elsewhere++
		}
		call, err := os.ReadFile(task + "/syscall")
		if err == nil && strings.HasPrefix(string(call), fmt.Sprintf("%d ", unix.SYS_WAITID)) {
			waiting++
		}
	}
	return elsewhere, waiting
}

func TestProcessOutputAndStatus(t *testing.T) {
	n := labtest.Node(t, labtest.New(t, "out"), "n")
	p, err := n.Start(runRole("fail"))
	assert.Must(t, err)
	err = p.Wait()
	var exit *exec.ExitError
	assert.MustBeTrue(t, errors.As(err, &exit) && exit.ExitCode() == 3, "Wait: got %v, want exit status 3", err)
	assert.Contains(t, err.Error(), "second", "the error lacks the last words")

	var out, errOut strings.Builder
	c := runRole("fail")
	c.Stdout, c.Stderr = &out, &errOut
	p = assert.Got(n.Start(c)).Must(t)
	<-p.Ended()
	assert.True(t, out.String() == "first\n" && errOut.String() == "second\n" && p.Output() == "",
		"own writers got %q and %q, Output %q", out.String(), errOut.String(), p.Output())

	_, err = n.Start(lab.Command{Name: "none"})
	assert.True(t, err != nil, "a command without a program started")
	_, err = n.Start(lab.Command{Argv: []string{"/nonexistent/program"}})
	assert.True(t, err != nil, "a program that does not exist started")
}

func TestProcessStop(t *testing.T) {
	n := labtest.Node(t, labtest.New(t, "stop"), "n")
	for _, test := range []struct {
		role  string
		sig   syscall.Signal
		grace time.Duration
		want  string
	}{
		{"wait", syscall.SIGTERM, 10 * time.Second, ""},
		{"stubborn", syscall.SIGTERM, 50 * time.Millisecond, "killed"},
		{"fail", 0, 10 * time.Second, "exit status 3"}, // ends by itself
	} {
		p, err := n.Start(runRole(test.role))
		assert.Must(t, err)
		if test.role != "fail" {
			labtest.Eventually(t, "ready", func() bool { return strings.Contains(p.Output(), "ready") })
		}
		err = p.Stop(test.sig, test.grace)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: got %v, want nil", test.role, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want one that says %q", test.role, err, test.want)
		}
		assert.True(t, !alive(p.Pid()), "%s: process %d lives after Stop", test.role, p.Pid())
	}
}

// Close gives a process as long as its command says.
func TestCloseWaitsForTheGrace(t *testing.T) {
	l := labtest.New(t, "grace")
	c := runRole("slow")
	c.Grace = time.Minute
	p := assert.Got(labtest.Node(t, l, "n").Start(c)).Must(t)
	labtest.Eventually(t, "ready", func() bool { return strings.Contains(p.Output(), "ready") })
	assert.Must(t, l.Close())
	if !strings.Contains(p.Output(), "ended by itself") {
		t.Errorf("the process was killed: %v", p.Wait())
	}
}

// Finish does not end a process that goes on.
func TestProcessFinish(t *testing.T) {
	n := labtest.Node(t, labtest.New(t, "finish"), "n")
	p, err := n.Start(runRole("wait"))
	assert.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Finish(ctx); !errors.Is(err, context.DeadlineExceeded) || !alive(p.Pid()) {
		t.Errorf("got %v, want that the time is over", err)
	}
	assert.Must(t, p.Stop(syscall.SIGKILL, time.Second))
	if p, err = n.Start(runRole("interfaces")); err == nil {
		err = p.Finish(t.Context())
	}
	assert.Must(t, err)
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	n := labtest.Node(t, labtest.New(t, "group"), "n")
	p := assert.Got(n.Start(runRole("parent"))).Must(t)
	labtest.Eventually(t, "grandchild started", func() bool { return strings.Contains(p.Output(), "ready") })
	grandchild := pidAfter(t, p.Output(), "grandchild")
	assert.Must(t, p.Stop(syscall.SIGTERM, 10*time.Second))
	labtest.Eventually(t, "grandchild ended", func() bool { return !alive(grandchild) })
}

func TestScheduled(t *testing.T) {
	n := labtest.Node(t, labtest.New(t, "sched"), "n")
	one := assert.Got(n.Start(runRole("spin"))).Must(t)
	two := assert.Got(n.Start(runRole("spin"))).Must(t)
	labtest.Eventually(t, "both spinners waited for the one CPU", func() bool {
		ran1, waited1 := one.Scheduled()
		ran2, waited2 := two.Scheduled()
		return min(ran1, ran2, waited1, waited2) > 50*time.Millisecond
	})
	assert.Must(t, one.Stop(syscall.SIGKILL, time.Second))
	before, waited := one.Scheduled()
	assert.True(t, before != 0 && waited != 0, "after the end: ran %v, waited %v, want more than 0", before, waited)
	after, _ := one.Scheduled()
	assert.True(t, after == before, "an ended process ran on: %v, then %v", before, after)
	assert.Must(t, two.Stop(syscall.SIGKILL, time.Second))
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range open {
		name, _ := os.Readlink(fd)
		assert.True(t, !strings.HasSuffix(name, "/schedstat"), "%s is still open", name)
	}
}

func TestLabRefuses(t *testing.T) {
	l := labtest.New(t, "refuse")
	n := labtest.Node(t, l, "n")
	node := func(name string) error { _, err := l.Node(name); return err }
	start := func() error { _, err := n.Start(runRole("wait")); return err }
	newLab := func(name string) error { _, err := lab.New(context.Background(), name); return err }
	for what, err := range map[string]error{
		"two nodes of one name":                  node("n"),
		"a node name with a slash":               node("a/b"),
		"two labs of one name in one process":    newLab("refuse"),
		"a lab name with a hyphen":               newLab("a-b"),
		"an interface name beyond 15 characters": l.Link(n, "longer-than-that-by-far", n, "x", lab.LinkOptions{}),
		"an address without a prefix length":     n.AddAddr("lo", "10.0.0.1"),
	} {
		assert.True(t, err != nil, "%v", what)
	}
	assert.Must(t, l.Close())
	assert.Must(t, l.Close())
	for what, err := range map[string]error{"Node": node("late"), "Start": start(), "LinkUp": n.LinkUp("lo")} {
		assert.True(t, errors.Is(err, lab.ErrClosed), "%s after Close: got %v, want ErrClosed", what, err)
	}
	assert.True(t, n.Do(func() error { return nil }) != nil, "Do after Close went well")
}

// A tunnel's identifier is one on a machine; the second one says so, and the first goes with its node.
func TestTunnelTwice(t *testing.T) {
	o := lab.TunnelOptions{Local: netip.MustParseAddr("192.0.2.1"), Remote: netip.MustParseAddr("192.0.2.2"),
		VNI: 0xABCDE, Port: 24789, MTU: 1400}
	for range 2 {
		l := labtest.New(t, "tunnel")
		n := labtest.Node(t, l, "n")
		assert.Must(t, l.Tunnel(n, "a", o))
		assert.Fails(t, l.Tunnel(n, "b", o), "another lab on this machine has", "a second tunnel of one identifier")
		assert.Must(t, l.Close())
	}
}
