package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// program returns where a program is that a test compares with.
func program(t *testing.T, name, debian string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	assert.MustBeTrue(t, os.Getenv("CI") != "true", "CI installs %s, but it is not there", name)
	t.Skipf("NOT TESTED against another implementation: there is no %s (Debian: apt-get install %s)", name, debian)
	return ""
}

// needsRoot leaves out what a program does not do in a user namespace, which knows one user: it changes to a user of
// its own.
func needsRoot(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() != 0 || labtest.OneUser(t) {
		t.Skipf("NOT TESTED against another implementation: %s needs root, and more than one user", name)
	}
}

// An otherEnd is lldpd of Debian in a host's namespace.
type otherEnd struct {
	t       *testing.T
	cli     string
	socket  string
	process *lab.Process
}

func startLLDPD(t *testing.T, n *lab.Node) *otherEnd {
	t.Helper()
	needsRoot(t, "lldpd")
	path := program(t, "lldpd", "lldpd")
	// a short path, for a socket of lldpd, which does not stay root
	o := &otherEnd{t: t, cli: program(t, "lldpcli", "lldpd"), socket: filepath.Join(labtest.TempDir(t), "s")}
	script := fmt.Sprintf("mount -t tmpfs none /run && mkdir -p /run/lldpd && exec %s -d -u %s -I eth0 -O /dev/null "+
		"-S 'another switch'", path, o.socket)
	var err error
	o.process, err = n.Start(lab.Command{Name: "lldpd", Argv: []string{"unshare", "-m", "sh", "-c", script}})
	must(t, err)
	t.Cleanup(func() {
		_ = o.process.Stop(syscall.SIGTERM, 2*time.Second)
		if t.Failed() {
			t.Logf("lldpd says:\n%s", o.process.Output())
		}
	})
	eventually(t, "lldpd answers", func() bool {
		_, err := o.command("show", "interfaces")
		return err == nil
	})
	return o
}

func (o *otherEnd) command(args ...string) (string, error) {
	out, err := exec.Command(o.cli, append([]string{"-u", o.socket}, args...)...).CombinedOutput()
	return string(out), err
}

func (o *otherEnd) must(args ...string) string {
	o.t.Helper()
	out, err := o.command(args...)
	assert.MustBeTrue(o.t, err == nil, "lldpcli %v: %v: %s\n%s", args, err, out, o.process.Output())
	return out
}

// announce makes lldpd announce a TLV of IEEE 802.1.
func (o *otherEnd) announce(subtype, info string) {
	o.must("unconfigure", "lldp", "custom-tlv", "oui", "00,80,c2", "subtype", subtype)
	o.must("configure", "lldp", "custom-tlv", "oui", "00,80,c2", "subtype", subtype, "oui-info", info)
	o.must("update")
}

// lldpd of Debian reads what a port tells, DCBX included, and the port follows what it is told by lldpd.
func TestLLDPD(t *testing.T) {
	r := Start(t, 1, Setup{Keys: "preset: roce\nlldp: {willing: true, change_hold: 0s}"})
	o := startLLDPD(t, r.Host(1))
	o.must("configure", "lldp", "tx-interval", "1")

	// What lldpd has understood, in its JSON.
	want := []string{
		`"type": "mac"`, `"value": "` + PortMAC(1).String() + `"`, // chassis
		`"type": "ifname"`, `"value": "p1"`, // port
		`"name": [`, `"value": "test"`, `"type": "Bridge"`, `"enabled": true`,
		`"value": "pfcswitch `,
		`"subtype": "11"`, `A8,08`, // PFC: willing, can measure headroom, eight classes; priority 3
		`"subtype": "12"`, `00,63,12,B7`, // RoCEv2 has priority 3
		`"subtype": "9"`, `"subtype": "10"`,
	}
	var got string
	eventually(t, "lldpd knows the switch", func() bool {
		got = o.must("-f", "json0", "show", "neighbors", "details")
		return strings.Contains(got, "p1")
	})
	assert.MustBeTrue(t, json.Valid([]byte(got)), "lldpd: %s", got)
	for _, part := range want {
		assert.True(t, strings.Contains(strings.ToLower(got), strings.ToLower(part)),
			"lldpd does not say %s:\n%s", part, got)
	}

	eventually(t, "the switch knows lldpd", func() bool { return len(r.LLDP().Neighbors) == 1 })
	n := r.LLDP().Neighbors[0]
	assert.True(t, n.SystemDescription != nil && *n.SystemDescription == "another switch" &&
		n.PortID == HostMAC(1).String() && n.PFC == nil && n.TTLSeconds == 4, "neighbor %+v", n)
	d := r.LLDP().DCBX
	assert.True(t, d.Reason == "no-peer" && !d.MeasurementAgreed && !d.Peer, "without DCBX: %+v", d)

	o.announce("11", "28,30") // not willing, can measure, priorities 4 and 5
	eventually(t, "the port follows", func() bool { return r.Snapshot(1).Config.Lossless == 0x30 })
	d = r.LLDP().DCBX
	assert.True(t, d.Reason == "peer" && d.MeasurementAgreed && !d.Mismatch, "following: %+v", d)
	eventually(t, "lldpd hears of it", func() bool {
		return strings.Contains(o.must("show", "neighbors", "details"), "A8,30")
	})
	o.announce("11", "08,30")
	eventually(t, "the measurement is not agreed any more", func() bool { return !r.LLDP().DCBX.MeasurementAgreed })
	o.announce("12", "00,63,12,b7")
	eventually(t, "the application is heard", func() bool {
		return slices.Equal(r.LLDP().Neighbors[0].Applications,
			[]api.DCBXApp{{Priority: 3, Selector: 3, Protocol: 4791}})
	})
	o.announce("11", "08,30,00") // an octet too long
	eventually(t, "the port is on its own", func() bool { return r.Snapshot(1).Config.Lossless == 0x08 })
	o.announce("11", "08,80")
	eventually(t, "the port follows", func() bool { return r.Snapshot(1).Config.Lossless == 0x80 })

	must(t, o.process.Stop(syscall.SIGTERM, 2*time.Second)) // says goodbye
	eventually(t, "the neighbour is gone", func() bool {
		return len(r.LLDP().Neighbors) == 0 && r.Snapshot(1).Config.Lossless == 0x08
	})
}

// The switch says goodbye when it ends, and lldpd forgets it at once.
func TestGoodbye(t *testing.T) {
	r := Start(t, 1, Setup{})
	o := startLLDPD(t, r.Host(1))
	eventually(t, "lldpd knows the switch", func() bool { return strings.Contains(o.must("show", "neighbors"), "p1") })
	r.Settle()
	r.Halt()
	eventually(t, "lldpd has forgotten it", func() bool { return !strings.Contains(o.must("show", "neighbors"), "p1") })
}

// lldpad, the reference of DCBX on Linux, reads every TLV of every version as it was meant. It runs the exchange itself
// only on interfaces with DCB support in the kernel's driver, which veth has not: that it takes over our priorities is
// NOT TESTED here, only that it reads from our frames those that it would take over.
func TestLLDPAD(t *testing.T) {
	needsRoot(t, "lldpad")
	path, tool := program(t, "lldpad", "lldpad"), program(t, "lldptool", "lldpad")
	for version, want := range map[string][]string{
		"ieee": {"MAC: " + PortMAC(1).String(), "Ifname: p1", "121", "Enabled capabilities: Bridge",
			"PRIO_MAP: 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7", "TSA_MAP: 0:ets 1:ets 2:ets 3:ets 4:ets 5:ets 6:strict 7:ets",
			"PFC capable traffic classes: 8", "PFC enabled: 3", "Prio 3", "UDP or DCCP Port: 4791"},
		"cee": {"CEE DCBX TLV", "Enabled, Not Willing, No Error", "PFC enabled priorities: 3",
			"PGID Priorities:  0:[0] 1:[1] 2:[2] 3:[3] 4:[4] 5:[5] 7:[7] 15:[6]",
			"TCP/UDP Port: 0x12b7, Priority Map: 0x08"},
		// lldptool prints the strict 2 of priority 6 as that of a group; in lldpad itself, which would act on it, it is
		// that of the link.
		"cin": {"CIN DCBX TLV", "SeqNo: 1, AckNo: 0", "Enabled, Not Willing, No Error", "PFC enabled priorities: 3",
			"BWG Percentages: 0:48% 1:1% 2:1% 3:47% 4:1% 5:1% 6:0% 7:1%", "3:[3-100%]", "6:[6(gs)-0%] 7:[7-100%]"},
	} {
		t.Run(version, func(t *testing.T) {
			r := Start(t, 1, Setup{Keys: "preset: roce\nlldp: {dcbx: " + version + "}"})
			script := fmt.Sprintf("mount -t tmpfs none /run && mount -t tmpfs none /var/lib && mkdir -p "+
				"/var/lib/lldpad && exec %s -f /var/lib/lldpad/lldpad.conf -p", path)
			p, err := r.Host(1).Start(lab.Command{Name: "lldpad", Argv: []string{"unshare", "-m", "-i", "sh", "-c",
				script}})
			must(t, err)
			t.Cleanup(func() { _ = p.Stop(syscall.SIGTERM, 2*time.Second) })
			lldptool := func(args ...string) (string, error) {
				c := assert.Got(r.Host(1).Start(lab.Command{Argv: append([]string{tool}, args...)})).Must(t)
				err = c.Wait()
				return c.Output(), err
			}
			eventually(t, "lldpad listens", func() bool {
				_, err := lldptool("set-lldp", "-i", "eth0", "adminStatus=rxtx")
				return err == nil
			})
			eventually(t, "the switch knows lldpad", func() bool { return len(r.LLDP().Neighbors) == 1 })
			var out string
			eventually(t, "lldpad knows the switch", func() bool {
				out, _ = lldptool("-t", "-n", "-i", "eth0")
				return strings.Contains(out, "test")
			})
			for _, part := range want {
				assert.True(t, strings.Contains(out, part), "lldpad does not say %q:\n%s", part, out)
			}
		})
	}
}
