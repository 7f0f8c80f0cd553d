package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
)

const (
	noTUN      = "TAP p3: there is no TUN device: load it (modprobe tun), or give the container --device=/dev/net/tun"
	notAllowed = "TAP p3: not allowed to make a TAP, which needs CAP_NET_ADMIN and to read and write /dev/net/tun: " +
		"run as root, or give the container --cap-add=NET_ADMIN --device=/dev/net/tun"
)

// Where a process may have no TAP, that port is down, the log says so once and show ports as long as it is so, with
// what to do; the other ports go on. The TAP comes as soon as the way is free.
func TestTAPRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		dev  string   // what it finds as /dev/net, as a shell makes it
		by   []string // how it is started
		want string
	}{
		{"no device", "mount -t tmpfs none /dev/net", nil, noTUN + " (open /dev/net/tun: no such file or directory)"},
		// Who may make no device node gets a file: its mode is all that the kernel looks at first.
		{"device is somebody else's", "mount -t tmpfs none /dev/net && { mknod /dev/net/tun c 10 200 2>/dev/null || " +
			": >/dev/net/tun; } && chmod 0 /dev/net/tun", without("dac_override"),
			notAllowed + " (open /dev/net/tun: permission denied)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRig(t, 3)
			must(t, r.Node.DeleteLink("p3"))
			p := r.Launch(Setup{Ports: map[int]string{3: "kind: tap"}},
				append([]string{"unshare", "--mount", "sh", "-c", tt.dev + ` && exec "$@"`, "sh"}, tt.by...),
				serveKey+"=1")
			r.refuses(p, tt.want)
			out, err := exec.Command("nsenter", fmt.Sprintf("--target=%d", p.Pid()), "--mount", "umount", "--lazy",
				"/dev/net").CombinedOutput()
			assert.MustBeTrue(t, err == nil, "give it the machine's /dev/net: %v\n%s", err, out)
			eventually(t, "the TAP comes", func() bool {
				return strings.Contains(p.Output(), `msg="port is open" port=p3 `)
			})
			r.Passes(1, 2)
			must(t, p.Stop(syscall.SIGTERM, Timeout))
		})
	}
}

// The same where the device is there and the kernel makes no interface: the process lacks CAP_NET_ADMIN in its own
// namespace. The other ports are in one where it has it, as who made that one's user namespace has.
func TestTAPRefusedInNamespace(t *testing.T) {
	requireUserNamespaces(t)
	r := NewRig(t, 3)
	must(t, r.Node.DeleteLink("p3"))
	ns := r.moveToUserNamespace("p1", "p2")
	p := r.Launch(Setup{Ports: map[int]string{1: "netns: " + ns, 2: "netns: " + ns, 3: "kind: tap"}},
		without("net_admin"), serveKey+"=1")
	r.refuses(p, notAllowed+" (TUNSETIFF: operation not permitted)")
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}

// requireUserNamespaces skips, or with REQUIRE_NETNS=1 fails, where even root may not have them.
func requireUserNamespaces(t *testing.T) {
	t.Helper()
	switch out, err := exec.Command("unshare", "--user", "--map-root-user", "true").CombinedOutput(); {
	case err == nil:
	case os.Getenv("REQUIRE_NETNS") == "1":
		t.Fatalf("REQUIRE_NETNS=1, but no user namespace: %v: %s", err, out)
	default:
		t.Skipf("NOT TESTED where the kernel refuses a TAP: needs user namespaces: %v: %s", err, out)
	}
}

// moveToUserNamespace moves interfaces of the switch to a network namespace that belongs to a user namespace below this
// process's, and returns its path.
func (r *Rig) moveToUserNamespace(interfaces ...string) string {
	r.T.Helper()
	up := ""
	for _, name := range interfaces {
		up += fmt.Sprintf("until ip link set dev %s up 2>/dev/null; do sleep 0.02; done; ", name)
	}
	p := assert.Got(r.Node.Start(lab.Command{Name: "namespace", Argv: []string{"unshare", "--user", "--map-root-user",
		"--net", "sh", "-c", "echo made; " + up + "echo up; exec sleep infinity"}})).Must(r.T)
	r.T.Cleanup(func() { _ = p.Stop(syscall.SIGKILL, Timeout) })
	r.says(p, "made")
	for _, name := range interfaces {
		IP(r.T, r.Node, "link", "set", "dev", name, "netns", fmt.Sprint(p.Pid()))
	}
	r.says(p, "up")
	return fmt.Sprintf("/proc/%d/ns/net", p.Pid())
}

// refuses shows that the switch opens p1 and p2 and tells why p3 is down, in its log once.
func (r *Rig) refuses(p *lab.Process, why string) {
	r.T.Helper()
	r.says(p, `msg="port is open" port=p1 `, `msg="port is open" port=p2 `, fmt.Sprintf("port=p3 reason=%q", why))
	r.Passes(1, 2)
	reply := assert.Got(api.NewClient(filepath.Join(r.Dir, "api.sock")).Show(r.T.Context(), "ports")).Must(r.T)
	for _, port := range reply.(*api.Ports).Ports {
		switch down := port.Port == PortName(3); {
		case port.Up == down:
			r.T.Errorf("%s is up: %v", port.Port, port.Up)
		case down && (port.Reason == nil || *port.Reason != why):
			r.T.Errorf("show ports says %v, want %q", port.Reason, why)
		}
	}
	n := strings.Count(p.Output(), "port is down")
	assert.True(r.T, n == 1, "the log says %d times that a port is down, want once:\n%s", n, p.Output())
}

// says waits until a process has written all texts.
func (r *Rig) says(p *lab.Process, texts ...string) {
	r.T.Helper()
	for _, text := range texts {
		eventually(r.T, fmt.Sprintf("%q is said", text), func() bool {
			if ended(p) {
				r.T.Fatal(p.Wait())
			}
			return strings.Contains(p.Output(), text)
		})
	}
}
