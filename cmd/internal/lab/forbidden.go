package lab

import (
	"fmt"
	"os"
	"strings"
)

// ForbiddenError says that the systemRegistry does not let this user make the namespaces that a lab needs.
// Sysctl is the kernel setting that stands in the way and Value what it is set to; both are empty
// where none of the known settings explains Err (a container's seccomp profile, for example).
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

// restrictions are the settings by which distributions keep ordinary users from user namespaces, with the
// value that forbids and the one that allows.
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
	b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
