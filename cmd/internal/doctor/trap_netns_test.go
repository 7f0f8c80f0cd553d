package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/daemon/daemontest"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/linkcheck"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// group makes a command lead a process group, which terminate ends.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func terminate(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

// Each of these is a link with one trap: doctor names it, the command that it prints is run, and doctor is silent about
// it.
func TestLinkTraps(t *testing.T) {
	labtest.Require(t)
	for _, test := range []struct {
		trap string
		set  func(t *testing.T, r *rig)
	}{
		{"missing-interface", func(t *testing.T, r *rig) { must(t, r.sw.DeleteLink("p1")) }},
		{"missing-namespace", func(t *testing.T, r *rig) {
			name := r.sw.Namespace() + "x"
			r.write("ports: {p1: {netns: " + name + "}}\n")
			t.Cleanup(func() { shell(t, "ip netns delete "+name) })
		}},
		{"link-down", func(t *testing.T, r *rig) { must(t, r.sw.LinkDown("p1")) }},
		{"link-down", func(t *testing.T, r *rig) { must(t, r.h.LinkDown("dr0")) }},
		{"master", func(t *testing.T, r *rig) {
			runIn(t, r.sw, "ip link add br0 type bridge")
			runIn(t, r.sw, "ip link set p1 master br0")
		}},
		{"address", func(t *testing.T, r *rig) { must(t, r.sw.AddAddr("p1", "192.0.2.1/24")) }},
		{"bridge-between", func(t *testing.T, r *rig) {
			runIn(t, r.h, "ip link add br0 type bridge")
			runIn(t, r.h, "ip link set dr0 master br0")
		}},
		{"mtu", func(t *testing.T, r *rig) { runIn(t, r.sw, "ip link set p1 mtu 1400") }},
		{"mtu", func(t *testing.T, r *rig) { runIn(t, r.h, "ip link set dr0 mtu 9000") }},
		{"mtu", func(t *testing.T, r *rig) {
			r.write("ports: {p1: {mtu: 9000, netns: " + r.sw.Path() + "}}\n")
			runIn(t, r.sw, "ip link set p1 mtu 9000")
		}},
		{"gro", func(t *testing.T, r *rig) { runIn(t, r.sw, "ethtool -K p1 gro on") }},
		{"gro-order", func(t *testing.T, r *rig) { runIn(t, r.sw, "ethtool -K p1 gro on rx-gro-list on") }},
		{"gro-order", func(t *testing.T, r *rig) {
			runIn(t, r.h, "ethtool -K dr0 gro on rx-udp-gro-forwarding on")
			f := find(r.ofFile(), "gro-order")
			assert.True(t, f != nil && f.Key != nil && *f.Key == "ports.p1.send: packet", "at the far end: %+v", f)
		}},
		{"rps", func(t *testing.T, r *rig) {
			p := assert.Got(r.sw.Start(lab.Command{Argv: []string{"unshare", "--mount", "sh", "-c",
				"mount -t sysfs sysfs /sys && echo 3 >/sys/class/net/p1/queues/rx-0/rps_cpus"}})).Must(t)
			must(t, p.Wait())
		}},
		{"qdisc", func(t *testing.T, r *rig) { runIn(t, r.h, "tc qdisc add dev dr0 root pfifo limit 10") }},
		{"qdisc", func(t *testing.T, r *rig) {
			runIn(t, r.sw, "tc qdisc add dev p1 root tbf rate 10mbit burst 10kb latency 10ms")
		}},
		{"super-frames", func(t *testing.T, r *rig) { must(t, r.h.AddAddr("dr0", "192.0.2.2/24")) }},
		{"host-without-nic", func(t *testing.T, r *rig) { must(t, r.h.AddAddr("dr0", "192.0.2.2/24")) }},
		{"ipv6-noise", func(t *testing.T, r *rig) {
			runIn(t, r.h, "sysctl -qw net.ipv6.conf.dr0.disable_ipv6=0")
			must(t, r.h.LinkDown("dr0"))
			must(t, r.h.LinkUp("dr0"))
			eventually(t, "dr0 has a link-local address", func() bool { return find(r.ofFile(), "ipv6-noise") != nil })
		}},
	} {
		t.Run(test.trap, func(t *testing.T) {
			r := newRig(t)
			before := r.ofFile()
			assert.MustBeTrue(t, before.Healthy && before.Ports == 1 && before.FarEnds == 1 && len(before.NotSeen) == 0,
				"a link without a trap:\n%s", before.Text())
			test.set(t, r)
			checkRemedy(t, test.trap, r.ofFile)
		})
	}
}

// Doctor reports missing capabilities. After its command has run, the finding is gone.
func TestCapabilities(t *testing.T) {
	labtest.Require(t)
	if os.Getuid() != 0 {
		t.Skip("only root may give a program rights")
	}
	dir := assert.Got(os.MkdirTemp("/var/tmp", "doctor")).Must(t)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o755))
	program, file := filepath.Join(dir, "pfcswitch"), filepath.Join(dir, "switch.yaml")
	b := assert.Got(os.ReadFile(labtest.Program(t))).Must(t)
	must(t, os.WriteFile(program, b, 0o755))
	must(t, os.WriteFile(file, []byte("ports: {lo: {force: true}}\n"), 0o644))
	doctor := func() string {
		out, _ := exec.Command("prlimit", "--nice=0:0", "setpriv", "--reuid=65534", "--clear-groups", program, "doctor",
			"-v", file).CombinedOutput()
		return string(out)
	}
	report := doctor()
	want := "setcap cap_net_raw,cap_net_admin=p " + program
	assert.MustBeTrue(t, strings.Contains(report, want), "want %q in:\n%s", want, report)
	shell(t, want)
	report = doctor()
	assert.True(t, !strings.Contains(report, "capabilities"), "the program has the rights:\n%s", report)
	if me, err := ReadProcess(0); err != nil || !me.Nice.Grantable {
		t.Skipf("this machine lets nobody have CAP_SYS_NICE: %+v, %v", me, err)
	}
	want = "setcap cap_net_raw,cap_net_admin,cap_sys_nice=p " + program
	assert.MustBeTrue(t, strings.Contains(report, want), "want %q in:\n%s", want, report)
	shell(t, want)
	report = doctor()
	assert.True(t, !strings.Contains(report, "machine: nice"), "the program has the right:\n%s", report)
}

// A running switch whose neighbor wants other priorities, or does not measure headroom; the commands change it while it
// runs.
func TestSwitchTraps(t *testing.T) {
	labtest.Require(t)
	for trap, keys := range map[string]string{"dcbx-mismatch": "priorities: {lossless: [4]}\nlldp: {interval: 1s}",
		"headroom-by-hand": "lldp: {interval: 1s, bit_ieee: off}"} {
		t.Run(trap, func(t *testing.T) {
			r := newRig(t)
			daemontest.Start(t, r.socket, "preset: roce\nlldp: {interval: 1s}\nports: {p1: {netns: "+r.sw.Path()+"}}\n")
			daemontest.Start(t, filepath.Join(t.TempDir(), "o.sock"),
				"preset: roce\n"+keys+"\nports: {dr0: {netns: "+r.h.Path()+"}}\n")
			eventually(t, "the neighbor has spoken", func() bool { return find(r.ofSwitch(), trap) != nil })
			checkRemedy(t, trap, r.ofSwitch)
		})
	}
}

// Without a switch and a file, the interfaces of the namespace are looked at: a host's end of a link is told what it
// lacks.
func TestNamespace(t *testing.T) {
	r := newRig(t)
	must(t, r.h.AddAddr("dr0", "192.0.2.2/24"))
	runIn(t, r.h, "ip link set dr0 mtu 1400")
	must(t, r.h.Do(func() error {
		f, err := OfNamespace()
		if err != nil {
			return err
		}
		got := Judge(f)
		mtu, host := find(got, "mtu"), find(got, "host-without-nic")
		if got.Ports != 1 || got.FarEnds != 1 || mtu == nil || *mtu.Command != "ip link set dev dr0 mtu 1500" ||
			host == nil || host.Port != nil || host.Netns != nil {
			t.Errorf("mtu %+v, host %+v:\n%s", mtu, host, got.Text())
		}
		return nil
	}))
}

// A VLAN that is tagged at one port and ends at another, behind which is a switch.
func TestPriorityUntagged(t *testing.T) {
	labtest.Require(t)
	r := newRig(t)
	must(t, r.lab.Link(r.sw, "p2", r.h, "dr1", lab.LinkOptions{}))
	other := filepath.Join(t.TempDir(), "o.sock")
	daemontest.Start(t, r.socket, "preset: roce\nlldp: {interval: 1s}\nports:\n  p1: {netns: "+r.sw.Path()+
		", pvid: 10}\n  p2: {netns: "+r.sw.Path()+", tagged: [10]}\n")
	daemontest.Start(t, other, "preset: roce\nlldp: {interval: 1s}\nports: {dr0: {netns: "+r.h.Path()+"}}\n")
	eventually(t, "the neighbor is a bridge", func() bool { return find(r.ofSwitch(), "priority-untagged") != nil })
	checkRemedy(t, "priority-untagged", r.ofSwitch)
}

// A VLAN of the host that the port does not carry. The survey gets a made-up VLAN, so the kernel needs no support.
func TestVLANFiltered(t *testing.T) {
	labtest.Require(t)
	r := newRig(t)
	daemontest.Start(t, r.socket, "preset: roce\nports: {p1: {tagged: [20], netns: "+r.sw.Path()+"}}\n")
	look := func() *api.Doctor {
		f := assert.Got(OfSwitch(t.Context(), r.socket)).Must(t)
		f.Targets[0].Survey.Peer.VLANs = []port.VLANLink{{Name: "dr0.10", VID: 10, Mapped: true}}
		return Judge(f)
	}
	f := find(look(), "vlan-filtered")
	assert.MustBeTrue(t, f != nil && *f.Key == "ports.p1.tagged: [20, 10]", "vlan-filtered: %+v", f)
	checkRemedy(t, "vlan-filtered", look)
}

// Faults of a peer are counted. No command repairs them; the finding tells how to clear the counters.
func TestCounterTraps(t *testing.T) {
	labtest.Require(t)
	r := newRig(t)
	must(t, r.lab.Link(r.sw, "p2", r.h, "dr1", lab.LinkOptions{}))
	daemontest.Start(t, r.socket, `preset: roce
buffer: {ring_hold: off, headroom: 16KiB}
lldp: {agent: off}
ports:
  p1: {netns: `+r.sw.Path()+`, speed: 10M}
  p2: {netns: `+r.sw.Path()+`, speed: 10M}
  t1: {kind: tap, netns: `+r.sw.Path()+`}
fdb: [{mac: "02:00:00:00:00:02", vlan: 1, port: p2}]
`)
	w := assert.Got(linkcheck.Open(r.h.Path(), "dr0")).Must(t)
	b := make([]byte, 1500)
	copy(b, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0x60, 0, 0x88, 0xb5})
	for range 20_000 { // far more than the shared segment takes, while p2 sends 10 Mbit/s
		if _, _, err := w.Send(b, frame.VnetHeader{}); err != nil {
			continue // the kernel's queue is full
		}
	}
	must(t, w.Close())
	eventually(t, "frames are lost", func() bool { return find(r.ofSwitch(), "lossless-lost") != nil })
	var last uint64
	eventually(t, "the ring is empty", func() bool {
		reply := assert.Got(api.NewClient(r.socket).Show(t.Context(), "ports")).Must(t)
		n := reply.(*api.Ports).Ports[0].ReceiveFrames
		same := n == last
		last = n
		return same
	})
	again := "pfcswitch clear counters -s " + r.socket
	for trap, key := range map[string]string{"overspeed": "ports.p1.speed", "lossless-lost": ""} {
		f := find(r.ofSwitch(), trap)
		if f == nil || f.Command != nil || !strings.HasSuffix(f.Seen, ": "+again) || (f.Key == nil) != (key == "") ||
			f.Key != nil && *f.Key != key {
			t.Errorf("%s: %+v", trap, f)
		}
	}
	shell(t, again)
	report := r.ofSwitch()
	assert.True(t, find(report, "overspeed") == nil && find(report, "lossless-lost") == nil && report.Ports == 3,
		"the counters of 3 ports were cleared:\n%s", report.Text())
}
