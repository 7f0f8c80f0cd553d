package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// outerNamespaceVariable is the environment variable by which Enter tells the process that it starts to be the inside one.
// Its value is the mount namespace of the outer process: where that is still our own, the variable lies, and
// nothing is mounted.
const outerNamespaceVariable = "PFCSWITCH_LAB_OUTSIDE"

// Enter gets the process the rights to build a lab. Where it has them (root, CAP_SYS_ADMIN, CAP_NET_ADMIN
// and CAP_NET_RAW) it returns inside = true and the caller goes on. Else it runs the own binary again with args
// (without the program's name) in a new user, network and mount namespace with an empty /run, hands signals
// on to it, waits, and returns inside = false and the exit status that the caller should end with: the
// one of the inner process, or 128 + n after signal n.
//
// A *ForbiddenError says that the systemRegistry allows neither.
//
// Enter belongs at the start of a command, before it has threads, files or sockets worth keeping.
func Enter(args []string) (status int, inside bool, err error) {
	outer := os.Getenv(outerNamespaceVariable)
	if err := os.Unsetenv(outerNamespaceVariable); err != nil {
		return 0, false, fmt.Errorf("lab: %w", err)
	}
	mnt, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return 0, false, fmt.Errorf("lab: %w (is /proc mounted?)", err)
	}
	if outer != "" && outer != mnt {
		return 0, true, prepareNamespace()
	}
	if ok, err := capable(); ok || err != nil {
		return 0, ok, err
	}
	status, err = reexec(args, mnt)
	return status, false, err
}

// capable says whether the process may make network namespaces and their links as it is.
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
func reexec(args []string, mnt string) (status int, err error) {
	// The child asks for SIGKILL when the thread that forked it ends: this one must live as long as we wait.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := ownBinary(args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	addNamespaces(cmd, mnt)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	if err := cmd.Start(); err != nil {
		return 0, forbidden("create user, network and mount namespace", err, readSysctl)
	}
	ended := make(chan error, 1)
	go runWait(cmd, ended)
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // from a terminal it comes twice; gone already is no harm
		case err := <-ended:
			return exitStatus(err)
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

// addNamespaces makes a command run as root of new namespaces.
func addNamespaces(cmd *exec.Cmd, mnt string) {
	cmd.Env = append(os.Environ(), outerNamespaceVariable+"="+mnt)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
}

// Detach starts the own binary with args (without the program's name) in a session of its own, so that it outlives this
// process and its terminal, and in new namespaces where this process lacks the rights for a lab. There Enter returns
// inside = true. files are its descriptors from 3 on; what it prints goes to log.
func Detach(args []string, log *os.File, files ...*os.File) (*os.Process, error) {
	mnt, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("lab: %w (is /proc mounted?)", err)
	}
	able, err := capable()
	if err != nil {
		return nil, err
	}
	cmd := ownBinary(args)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, files
	cmd.SysProcAttr.Setsid = true
	if !able {
		addNamespaces(cmd, mnt)
	}
	if err := cmd.Start(); err != nil {
		if able {
			return nil, fmt.Errorf("lab: start %s: %w", cmd.Args[0], err)
		}
		return nil, forbidden("create user, network and mount namespace", err, readSysctl)
	}
	return cmd.Process, nil
}

func runWait(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }

// exitStatus turns what Wait said into a shell's exit status.
func exitStatus(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// prepareNamespace makes the new namespaces habitable: an own, empty /run for names and sockets, and a loopback.
// It is here, not at clone, that a kernel answers which gives user namespaces without any rights.
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
