package lab_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// roleKey makes the test binary, started again by a test, play a part instead of running tests.
const roleKey = "LAB_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleKey)]; ok {
		os.Exit(role())
	}
	labtest.Main(m)
}

var roles = map[string]func() int{
	"interfaces": listInterfaces,
	"fail":       func() int { fmt.Println("first"); fmt.Fprintln(os.Stderr, "second"); return 3 },
	"wait":       waitForever,
	"stubborn":   func() int { signal.Ignore(syscall.SIGTERM); return waitForever() },
	"slow":       endSlowly,
	"parent":     startGrandchild,
	"spin":       spinOnFirstCPU,
	"hold":       func() int { return holdLab(context.Background()) },
	"interrupt":  holdLabUntilSignal,
	"panic":      panicInLab,
	"enter":      enterAndBuild,
	"enter-wait": enterAndWait,
	"beside-ip":  buildBesideIP,
	"forbidden":  enterWhereForbidden,
}

func runRole(role string) lab.Command {
	return lab.Command{Name: role, Argv: []string{lab.Self}, Env: []string{roleKey + "=" + role}}
}

func waitForever() int {
	fmt.Println("ready")
	for {
		_ = unix.Pause()
	}
}

// endSlowly takes longer to end than Close gives a process without a Grace.
func endSlowly() int {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	fmt.Println("ready")
	<-ended
	time.Sleep(2500 * time.Millisecond)
	fmt.Println("ended by itself")
	return 0
}

func listInterfaces() int {
	ifs, err := net.Interfaces()
	if err != nil {
		return 1
	}
	for _, i := range ifs {
		fmt.Println(i.Name)
	}
	return 0
}

func startGrandchild() int {
	p, err := os.StartProcess("/proc/self/exe", []string{"grandchild"}, &os.ProcAttr{Env: []string{roleKey + "=wait"}})
	if err != nil {
		return 1
	}
	fmt.Println("grandchild", p.Pid)
	return waitForever()
}

// spinOnFirstCPU burns the first CPU that it may use, so that two of its kind must wait for each other.
func spinOnFirstCPU() int {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return 1
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return 1
	}
	for i := 0; ; i++ {
		runtime.KeepAlive(i)
	}
}

// failed prints an error, and is the status of a role that meets one.
func failed(err error) int {
	fmt.Println(err)
	return 1
}

// withLab builds a lab with two linked nodes and a process, and goes on in it.
func withLab(ctx context.Context, name string, then func(*lab.Lab, *lab.Process) int) int {
	l, err := lab.New(ctx, name)
	if err != nil {
		return failed(err)
	}
	defer l.Close()
	p, err := furnish(l)
	if err != nil {
		return failed(err)
	}
	return then(l, p)
}

// holdLab builds a lab, says so, and keeps it until ctx ends.
func holdLab(ctx context.Context) int {
	return withLab(ctx, "held", func(_ *lab.Lab, p *lab.Process) int {
		fmt.Println("built", os.Getpid(), p.Pid())
		<-ctx.Done()
		return 0
	})
}

func furnish(l *lab.Lab) (*lab.Process, error) {
	a, err := l.Node("a")
	if err != nil {
		return nil, err
	}
	b, err := l.Node("b")
	if err != nil {
		return nil, err
	}
	if err := l.Link(a, "eth0", b, "eth0", lab.LinkOptions{}); err != nil {
		return nil, err
	}
	return a.Start(runRole("wait"))
}

func holdLabUntilSignal() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return holdLab(ctx)
}

func panicInLab() int {
	return withLab(context.Background(), "held", func(_ *lab.Lab, p *lab.Process) int {
		fmt.Println("built", os.Getpid(), p.Pid())
		var none []int
		return none[len(os.Args)]
	})
}

func enterAndBuild() int {
	status, inside, err := lab.Enter([]string{"the", "arguments"})
	if err != nil || !inside {
		fmt.Println(err)
		return status
	}
	return withLab(context.Background(), "inner", func(l *lab.Lab, _ *lab.Process) int {
		run, err := os.ReadDir("/run") // ours: netns and pfcswitch
		fmt.Println("inside", os.Getuid(), strings.Join(os.Args[1:], " "), len(run), err)
		fmt.Println(l.Nodes()[0].EnterCommand())
		return 7
	})
}

// buildBesideIP makes a lab where nobody has named a namespace yet, and another namespace by ip while it is there.
func buildBesideIP() int {
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return failed(err)
	}
	l, err := lab.New(context.Background(), "first")
	if err == nil {
		_, err = furnish(l)
	}
	for _, args := range [][]string{{"netns", "add", "other"}, {"netns", "exec", "other", "true"},
		{"netns", "del", "other"}} {
		if out, failed := exec.Command("ip", args...).CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("ip %v: %w: %s", args, failed, out))
		}
	}
	if l != nil {
		err = errors.Join(err, l.Close())
	}
	left, failed := os.ReadDir("/run/netns")
	fmt.Println("left behind", len(left), errors.Join(err, failed))
	return 0
}

func enterAndWait() int {
	status, inside, err := lab.Enter(nil)
	if err != nil || !inside {
		fmt.Println(err)
		return status
	}
	fmt.Println("inner", os.Getpid())
	return waitForever()
}

// enterWhereForbidden is root of a user namespace of its own. It forbids all further ones, drops its rights and
// is then in an ordinary user's place on a hardened machine.
func enterWhereForbidden() int {
	runtime.LockOSThread() // rights belong to the thread
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return failed(err)
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return failed(err)
	}
	_, inside, err := lab.Enter(nil)
	fmt.Println(inside, err)
	return 0
}
