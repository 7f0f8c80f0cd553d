package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// outerNamespaceVariable is set in the process that Enter starts inside new namespaces. Its value is the mount
// namespace of the outer process. Where that is this process's own namespace, the variable was inherited by mistake and
// does not count.
const outerNamespaceVariable = "PFCSWITCH_LAB_OUTSIDE"

// Enter gets the process the rights to build a lab. A process that has them (root, or CAP_SYS_ADMIN, CAP_NET_ADMIN and
// CAP_NET_RAW) gets inside = true and goes on. Otherwise Enter runs the own binary again with args (without the
// program's name) in a new user, network and mount namespace with an empty /run. It forwards signals to that process
// and waits for its end. Then it returns inside = false and the status with which the caller should exit: the status of
// the inner process, or 128 + n after signal n.
//
// A *ForbiddenError means that the system allows neither.
//
// Call Enter at the start of a command, before there are threads, files or sockets.
func Enter(args []string) (status int, inside bool, err error) {
	outer := os.Getenv(outerNamespaceVariable)
	if err := os.Unsetenv(outerNamespaceVariable); err != nil {
		return 0, false, fmt.Errorf("lab: %w", err)
	}
	mnt, err := mountNamespace()
	if err != nil {
		return 0, false, err
	}
	if outer != "" && outer != mnt {
		return 0, true, prepareNamespace()
	}
	if ok, err := capable(); ok || err != nil {
		return 0, ok, err
	}
	status, err = reexec(args)
	return status, false, err
}

func mountNamespace() (string, error) {
	mnt, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return "", fmt.Errorf("lab: %w (is /proc mounted?)", err)
	}
	return mnt, nil
}

// capable tells whether the process has the capabilities for network namespaces and links.
func capable() (bool, error) {
	var data [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return false, fmt.Errorf("lab: read own capabilities: %w", err)
	}
	const need = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_RAW
	return data[0].Effective&need == need, nil
}

// reexec runs the own binary in new namespaces, as their root.
func reexec(args []string) (status int, err error) {
	// The child gets SIGKILL when the thread that forked it ends, so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := ownBinary(args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	if err := startApart(cmd); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go runWait(cmd, ended)
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // an error means that the process has ended
		case err := <-ended:
			if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
				return 128 + int(ws.Signal()), nil
			}
			if exit := new(exec.ExitError); errors.As(err, &exit) {
				err = nil
			}
			return cmd.ProcessState.ExitCode(), err
		}
	}
}

// ownBinary is the own binary with other arguments.
func ownBinary(args []string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}

// startApart starts a command as root of new namespaces.
func startApart(cmd *exec.Cmd) error {
	mnt, err := mountNamespace()
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), outerNamespaceVariable+"="+mnt)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	if err := cmd.Start(); err != nil {
		return forbidden("create user, network and mount namespace", err, readSysctl)
	}
	return nil
}

// Detach starts the own binary with args (without the program's name) in a new session, so that it outlives this
// process and its terminal. Where this process lacks the rights for a lab, the new process gets namespaces of its own,
// in which Enter returns inside = true. files are its descriptors from 3 on; its output goes to log.
func Detach(args []string, log *os.File, files ...*os.File) (*os.Process, error) {
	able, err := capable()
	if err != nil {
		return nil, err
	}
	cmd := ownBinary(args)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, files
	cmd.SysProcAttr.Setsid = true
	if !able {
		err = startApart(cmd)
	} else if err = cmd.Start(); err != nil {
		err = fmt.Errorf("lab: start %s: %w", cmd.Args[0], err)
	}
	return cmd.Process, err
}

func runWait(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }

// prepareNamespace gives the new namespaces an empty /run for names and sockets, and a loopback. A kernel that allows
// user namespaces without rights refuses here, not at clone.
func prepareNamespace() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return forbidden("make mounts private", err, readSysctl)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return forbidden("mount tmpfs on /run", err, readSysctl)
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("lab: find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return forbidden("set lo up", err, readSysctl)
	}
	return nil
}

// ForbiddenError means that the system does not let this user make the namespaces of a lab. Sysctl is the kernel
// setting that forbids it, and Value the value of the setting. Both are empty where no known setting explains Err, as
// with the seccomp profile of a container.
type ForbiddenError struct {
	Op     string // what was tried, such as "create user namespace"
	Err    error  // what the kernel answered
	Sysctl string
	Value  string
	want   string
}

// Error names what failed, the setting behind it and the way out.
func (e *ForbiddenError) Error() string {
	if e.Sysctl == "" {
		return fmt.Sprintf("lab: %s: %v (run as root; in a container add CAP_SYS_ADMIN and CAP_NET_ADMIN, "+
			"or a seccomp profile that allows user namespaces)", e.Op, e.Err)
	}
	return fmt.Sprintf("lab: %s: %v: %s is %s (run as root, or once as root: sysctl -w %s=%s)",
		e.Op, e.Err, e.Sysctl, e.Value, e.Sysctl, e.want)
}

// Unwrap returns what the kernel answered.
func (e *ForbiddenError) Unwrap() error { return e.Err }

// restrictions are the settings that forbid user namespaces to ordinary users, with the value that forbids and the
// value that allows.
var restrictions = []struct{ sysctl, forbids, allows string }{
	{"user.max_user_namespaces", "0", "1000"},
	{"kernel.unprivileged_userns_clone", "0", "1"},                 // Debian
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},     // Ubuntu: makes them, but without rights
	{"kernel.apparmor_restrict_unprivileged_unconfined", "1", "0"}, // Ubuntu: the same for unconfined programs
	{"user.max_net_namespaces", "0", "1000"},
	{"user.max_mnt_namespaces", "0", "1000"},
}

// forbidden explains err by the first restriction that is in force.
func forbidden(op string, err error, readSysctl func(name string) string) *ForbiddenError {
	e := &ForbiddenError{Op: op, Err: err}
	for _, r := range restrictions {
		if readSysctl(r.sysctl) == r.forbids {
			e.Sysctl, e.Value, e.want = r.sysctl, r.forbids, r.allows
			break
		}
	}
	return e
}

// readSysctl returns the value of a kernel setting, or nothing where the kernel does not have it.
func readSysctl(name string) string {
	b, _ := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	return strings.TrimSpace(string(b))
}
