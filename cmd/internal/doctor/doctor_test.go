package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// healthy are the facts of a link between two switches without a fault.
func healthy(t *testing.T) *Facts {
	t.Helper()
	c, _, err := config.Parse("test.yaml", []byte("name: s1\npreset: roce\nports: {p1: {interface: eth1}}\n"))
	must(t, err)
	backlog, clock := 1000, "tsc"
	s := &port.Survey{Link: port.Link{Name: "eth1", Kind: "veth", MTU: 1500, Up: true}, AdminUp: true, Qdisc: "noqueue",
		Offloads: map[string]bool{}}
	far := &port.Survey{Link: port.Link{Name: "e0", Kind: "veth", MTU: 1500, Up: true}, Netns: "h", AdminUp: true,
		Offloads: map[string]bool{}}
	s.Peer = far
	return &Facts{Looked: "switch s1", Switch: "s1", Socket: "/run/pfcswitch/s1.sock", Config: c,
		Machine: api.Machine{CPUs: 2, BacklogMax: &backlog, Clock: &clock},
		Process: &Process{What: "the switch (process 1)", Program: "/usr/bin/pfcswitch", Capabilities: 1<<13 | 1<<12,
			RaisesCapabilities: true, Nice: Nice{Current: -10, Lowest: -10, Grantable: true}},
		Targets: []Target{{Port: "p1", Interface: "eth1", Config: &c.Ports[0], Lossless: 1 << 3, Survey: s,
			Live: &api.Port{Up: true}, LLDP: &api.LLDPPort{}}}}
}

// hangs makes one of two threads hang.
func hangs(state string) func(*Facts, *port.Survey) {
	return func(f *Facts, _ *port.Survey) {
		f.PID = 30
		f.Threads = []api.Thread{{Thread: 30, State: api.ThreadLooks, BehindNs: 3e9}, {Thread: 31, State: state,
			Receives: []string{"p1"}, Sends: []string{"p1", "p2"}, BehindNs: 12_345_678_901}}
	}
}

// Traps that need a NIC, a kernel module or another machine are judged by made-up facts.
func TestRules(t *testing.T) {
	r := Judge(healthy(t))
	assert.MustBeTrue(t, r.Healthy && len(r.Findings) == 0 && r.FarEnds == 1, "nothing is wrong, but:\n%s", r.Text())
	for _, test := range []struct {
		trap, severity string
		set            func(f *Facts, s *port.Survey)
		command        string // "": none
		says           string
	}{
		{"hardware-pause", "warning", func(_ *Facts, s *port.Survey) {
			s.Pause = &port.HardwarePause{Autoneg: true, Receive: true}
		},
			"ethtool -A eth1 autoneg off rx off tx off", "rx true"},
		{"lro", "warning", func(_ *Facts, s *port.Survey) {
			s.Offloads["large-receive-offload"] = true
		}, "ethtool -K eth1 lro off", "on"},
		{"gro-order", "warning", func(_ *Facts, s *port.Survey) {
			offload(s.Peer, "generic-receive-offload", "rx-gro-list", "rx-udp-gro-forwarding")
		},
			"nsenter --net=/run/netns/h ethtool -K e0 rx-gro-list off rx-udp-gro-forwarding off",
			"rx-gro-list, rx-udp-gro-forwarding: on"},
		{"xdp", "warning", func(_ *Facts, s *port.Survey) { s.XDP = true }, "ip link set dev eth1 xdp off", "attached"},
		{"bridge-between", "error", func(_ *Facts, s *port.Survey) {
			s.Peer.MasterKind, s.Peer.MasterName = "openvswitch", "ovs-system"
		},
			"nsenter --net=/run/netns/h ovs-vsctl del-port e0", "ovs-system"},
		{"qdisc", "warning", func(_ *Facts, s *port.Survey) {
			s.Kind, s.Qdisc = "", "netem"
		}, "tc qdisc del dev eth1 root", "netem"},
		{"vlan-unmapped", "warning", func(_ *Facts, s *port.Survey) {
			s.Peer.VLANs = []port.VLANLink{{Name: "e0.1", VID: 1}}
		},
			"nsenter --net=/run/netns/h ip link set dev e0.1 type vlan egress-qos-map 1:1 2:2 3:3 4:4 5:5 6:6 7:7",
			"VLAN 1"},
		{"several-neighbors", "warning", func(f *Facts, _ *port.Survey) {
			f.Targets[0].LLDP.Neighbors = []api.LLDPNeighbor{{ChassisID: "a", PortID: "1"},
				{ChassisID: "b", PortID: "2"}}
		}, "", "a 1; b 2"},
		{"kernel-backlog", "warning", func(f *Facts, _ *port.Survey) {
			f.BacklogDrops = 7
		}, "sysctl -qw net.core.netdev_max_backlog=10000", "7 frames"},
		{"kernel-backlog", "warning", func(f *Facts, _ *port.Survey) {
			f.BacklogDrops, f.Machine.BacklogMax = 7, nil
		}, "", "7 frames since the switch started, or its counters were cleared; net.core.netdev_max_backlog: it " +
			"cannot be read here"},
		{"thread-hangs", "error", hangs(api.ThreadStopped), "",
			"thread 31 of switch s1 has not looked at its ports for 12.346snobody reads the frames of p1: the "},
		{"thread-hangs", "error", hangs(api.ThreadStopped), "",
			"No frame leaves by p1, p2: what goes there fills the buffer, and senders are held. The thread waits in"},
		{"thread-hangs", "error", hangs(api.ThreadStopped), "", "stack of /proc/30/task/31"},
		{"thread-hangs", "error", hangs(api.ThreadWaits), "", "The thread waits for another one of the switch"},
		{"thread-hangs", "error", hangs(api.ThreadRuns), "", "The thread has a CPU"},
		{"thread-hangs", "error", hangs(api.ThreadNoCPU), "", "The thread is ready"},
		{"one-cpu", "warning", func(f *Facts, _ *port.Survey) { f.Machine.CPUs = 1 }, "", "1 CPU"},
		{"governor", "note", func(f *Facts, _ *port.Survey) { f.Machine.Governor = optional("powersave") },
			"for g in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance >$g; done",
			"powersave"},
		{"clock", "note", func(f *Facts, _ *port.Survey) { f.Machine.Clock = optional("acpi_pm") },
			"echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm"},
		{"capabilities", "error", func(f *Facts, _ *port.Survey) {
			f.Process.Capabilities, f.Process.Netns = 1<<12|1<<13, true
		},
			"setcap cap_net_raw,cap_net_admin,cap_sys_admin=p /usr/bin/pfcswitch", "cap"},
		{"capabilities", "error", func(f *Facts, _ *port.Survey) {
			f.Process.Capabilities, f.Process.RaisesCapabilities = 1<<12, false
		},
			"setcap cap_net_raw,cap_net_admin=ep /usr/bin/pfcswitch", "cap_net_raw"},
		{"capabilities", "error", func(f *Facts, _ *port.Survey) {
			f.Process.Capabilities, f.Process.Program = 0, ""
		}, "", "cap_net_admin"},
		{"nice", "warning", func(f *Facts, _ *port.Survey) { f.Process.Nice.Current, f.Process.Nice.Lowest = 0, 0 },
			"setcap cap_net_raw,cap_net_admin,cap_sys_nice=p /usr/bin/pfcswitch",
			"(process 1) has nice 0 and may go down to 0; the configuration wants -10"},
		{"nice", "warning", func(f *Facts, _ *port.Survey) {
			f.Switch, f.Process.Nice = "", Nice{Current: 5, Lowest: -9}
		}, "", "has nice 5 and may go down to -9"},
		{"nice", "warning", func(f *Facts, _ *port.Survey) {
			f.Process.Nice = Nice{Current: 0, Lowest: -20}
		}, "", "starts anew has it"},
		{"missing-interface", "error", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Survey, f.Targets[0].Absent = nil, port.ErrNoInterface
		},
			"ip link add dev eth1 type veth peer name eth1-far && ip link set dev eth1 up && ip link set dev " +
				"eth1-far up", "no interface"},
		{"missing-namespace", "error", func(f *Facts, _ *port.Survey) {
			f.absent("h 1", port.ErrNoNetns)
		}, "ip netns add 'h 1'", "does not exist"},
		{"missing-namespace", "error", func(f *Facts, _ *port.Survey) {
			f.absent("/run/netns/h", port.ErrNoNetns)
		}, "ip netns add h", "does not exist"},
		{"missing-namespace", "error", func(f *Facts, _ *port.Survey) {
			f.absent("pid:7", port.ErrNoNetns)
		}, "", "does not exist"},
		{"missing-namespace", "error", func(f *Facts, _ *port.Survey) {
			f.absent("/mnt/h", port.ErrNoNetns)
		}, "", "does not exist"},
		{"dcbx-mismatch", "error", func(f *Facts, _ *port.Survey) { f.mismatch(t, "true") }, "", "[3]"},
		{"overspeed", "warning", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Live.OverspeedFrames = 5
		}, "", "5 frames came faster; to see"},
		{"xoff-late", "warning", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Late = latenessOf(&api.HeadroomPort{Queues: []api.HeadroomQueue{{LateNs: 5e6, Early: 3},
				{LateNs: 4e6, Crowded: 4}}})
		}, "", "7 frames found no room; the longest that a frame lay in the ring is 5ms since the start; to see"},
		{"lossless-lost", "error", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Live.LosslessDrops = 5
		}, "", "clear counters -s /run/pfcswitch/s1.sock"},
		{"lossless-lost", "error", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Live.LosslessDrops = 9
			f.Config.Buffer.RingHold = false
			f.Targets[0].Late = latenessOf(&api.HeadroomPort{Queues: []api.HeadroomQueue{{RingFrames: 2, Pool: 3}}})
		}, "", "9 lossless frames; no room (ring_hold: off) for 0 that this machine read late (xoff-late), for 2 " +
			"since more came after XOFF than the headroom holds, and for 3 since other"},
		{"lossless-discarded", "warning", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Live.LosslessDiscarded = 62_729
			f.Targets[0].Live.LosslessDiscardedBy = []api.DiscardedBy{{Reason: "filtered", Frames: 4},
				{Reason: "watchdog", Frames: 62_725}}
		}, "", "frames: filtered 4, watchdog 62,725; to see"},
		{"link-down", "error", func(f *Facts, s *port.Survey) {
			s.Up, f.Targets[0].Live.Up = false, false
		}, "ip link set dev eth1 up", "no carrier"},
		{"port-down", "error", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Live = &api.Port{Reason: optional("open eth1: no memory")}
		}, "", "open eth1: no memory"},
		{"control-swallowed", "error", func(f *Facts, _ *port.Survey) {
			f.Targets[0].Swallows = true
		}, "", "not as MAC Control frames"},
	} {
		f := healthy(t)
		test.set(f, f.Targets[0].Survey)
		r := Judge(f)
		if len(r.Findings) != 1 || r.Findings[0].Trap != test.trap || r.Healthy {
			t.Errorf("%s:\n%s", test.trap, r.Text())
			continue
		}
		got := &r.Findings[0]
		if command := ""; got.Command != nil && *got.Command != test.command ||
			got.Command == nil && command != test.command ||
			got.Severity != test.severity || !strings.Contains(got.Seen+got.Effect, test.says) {
			t.Errorf("%s: %+v\n%s", test.trap, got, r.Text())
		}
	}
}

// A file has no findings that a switch repairs when it starts.
func TestNoFalseAlarms(t *testing.T) {
	for name, set := range map[string]func(f *Facts, s *port.Survey){
		"a switch that starts switches hardware pause off": func(f *Facts, s *port.Survey) {
			s.Pause, f.Targets[0].Live = &port.HardwarePause{Receive: true}, nil
		},
		"a nice value that a switch may have": func(f *Facts, _ *port.Survey) {
			f.Switch, f.Process.Nice = "", Nice{Current: 0, Lowest: -10}
		},
		"divided receive, and no NAPI": func(_ *Facts, s *port.Survey) { offload(s.Peer, "rx-gro-list") },
		"divided receive, and send: packet": func(f *Facts, s *port.Survey) {
			offload(s.Peer, "generic-receive-offload", "rx-gro-list")
			f.Targets[0].Config.Send = config.SendPacket
		},
		"divided receive, and a packet socket": func(f *Facts, s *port.Survey) {
			offload(s.Peer, "generic-receive-offload", "rx-gro-list")
			f.Targets[0].Live.Send = &api.Send{By: "packet"}
		},
		"no nice value": func(f *Facts, _ *port.Survey) { f.Config.Nice, f.Process.Nice = 0, Nice{} },
		"less than it has been started with": func(f *Facts, _ *port.Survey) {
			f.Config.Nice, f.Process.Nice = 5, Nice{}
		},
		"force": func(f *Facts, s *port.Survey) {
			f.Targets[0].Config.Force, s.Addresses = true, []string{"192.0.2.1/24"}
		},
		"a lossy port of a plain host": func(f *Facts, s *port.Survey) {
			f.Targets[0].Lossless, s.Peer.Addresses = 0, []string{"192.0.2.1/24"}
		},
		"fq_codel on a NIC":              func(_ *Facts, s *port.Survey) { s.Kind, s.Qdisc = "", "fq_codel" },
		"a larger MTU of the port's own": func(_ *Facts, s *port.Survey) { s.MTU = 9000 },
		"few drops of a long backlog": func(f *Facts, _ *port.Survey) {
			n := 100_000
			f.BacklogDrops, f.Machine.BacklogMax = 3, &n
		},
		"a backlog that overflowed before the switch started": func(f *Facts, _ *port.Survey) {
			f.Machine.BacklogDrops = 7
		},
		"IPv6 of a port, which goes": func(_ *Facts, s *port.Survey) { s.IPv6 = []string{"fe80::1/64"} },
		"a TAP that is not there yet": func(f *Facts, _ *port.Survey) {
			f.Targets[0].Survey, f.Targets[0].Config.Kind = nil, config.KindTAP
		},
		"VLANs that the port carries": func(_ *Facts, s *port.Survey) {
			s.Peer.VLANs = []port.VLANLink{{Name: "e0.1", VID: 1, Mapped: true}}
		},
		"no far end that could be seen":    func(_ *Facts, s *port.Survey) { s.Peer = nil },
		"a file that nobody runs needs no": func(f *Facts, _ *port.Survey) { f.Process = nil },
	} {
		f := healthy(t)
		set(f, f.Targets[0].Survey)
		r := Judge(f)
		assert.True(t, r.Healthy, "%s:\n%s", name, r.Text())
	}
}

// What a TAP has lost, and what a port has that was removed, is lost too.
func TestEveryLossIsFound(t *testing.T) {
	f := healthy(t)
	tap := *f.Targets[0].Config
	tap.Kind = config.KindTAP
	f.Targets = append(f.Targets, Target{Port: "t1", Interface: "tap1", Config: &tap,
		Live: &api.Port{Up: true, LosslessDrops: 2}})
	f.LosslessDrops = 5
	must(t, (&Facts{Targets: f.Targets[1:]}).survey()) // it is not looked for
	var seen []string
	for _, finding := range Judge(f).Findings {
		where := "removed"
		if finding.Port != nil {
			where = *finding.Port
		}
		seen = append(seen, finding.Trap+" "+where+" "+finding.Seen[:1])
	}
	got := strings.Join(seen, ", ")
	assert.True(t, got == "lossless-lost removed 3, lossless-lost t1 2", "%v", got)
	f.LosslessDiscarded = 7
	if got := find(Judge(f), "lossless-discarded"); got == nil || got.Port != nil ||
		!strings.HasPrefix(got.Seen, "7 frames of ports that were removed") {
		t.Errorf("%+v", got)
	}
	f.LosslessDrops, f.LosslessDiscarded = 2, 0
	r := Judge(f)
	assert.True(t, len(r.Findings) == 1, "the TAP has lost all:\n%s", r.Text())
}

// Both ends of a link may be ports, and the namespace may have two names: the command is reported once.
func TestSaidOnce(t *testing.T) {
	for _, netns := range []string{"h", "/run/netns/h"} {
		f := healthy(t)
		far := f.Targets[0].Survey.Peer
		own := *far
		far.Netns, far.MTU, own.MTU = netns, 1400, 1400
		f.Targets = append(f.Targets, Target{Port: "p2", Interface: "e0", Netns: "h", Config: f.Targets[0].Config,
			Survey: &own})
		r := Judge(f)
		assert.True(t, len(r.Findings) == 1, "%s: %d findings:\n%s", netns, len(r.Findings), r.Text())
	}
}

// A fault that two ports share is reported for each.
func TestSaidOfEach(t *testing.T) {
	f := healthy(t)
	f.Targets[0].Live.LosslessDrops, f.Targets[0].Live.OverspeedFrames = 7, 7
	f.mismatch(t, "false")
	second, link := f.Targets[0], *f.Targets[0].Survey
	link.Name = "eth2"
	second.Port, second.Interface, second.Survey = "p2", "eth2", &link
	f.Targets = append(f.Targets, second)
	ports := map[string]int{}
	for _, finding := range Judge(f).Findings {
		ports[finding.Trap+" "+*finding.Port]++
	}
	for _, want := range []string{"lossless-lost p1", "lossless-lost p2", "overspeed p1", "overspeed p2",
		"dcbx-mismatch p1", "dcbx-mismatch p2"} {
		assert.Equal(t, ports[want], 1, "%s: how often it is said", want)
	}
	for i := range f.Targets {
		f.Targets[i].Survey.Netns = []string{"a", "b"}[i]
		f.Targets[i].Survey.Name = "eth0"
	}
	if r := Judge(f); len(r.Findings) != len(ports) {
		t.Errorf("two namespaces: %d findings, want %d:\n%s", len(r.Findings), len(ports), r.Text())
	}
}

// The remedy lldp.willing is offered only to a switch that does not follow its neighbor.
func TestMismatch(t *testing.T) {
	f := healthy(t)
	f.mismatch(t, "false")
	got := find(Judge(f), "dcbx-mismatch")
	if got == nil || got.Command == nil || !strings.Contains(*got.Command, "willing: true") || got.Key == nil ||
		!strings.Contains(*got.Key, "lldp.willing") {
		t.Errorf("not willing: %+v", got)
	}
	f.mismatch(t, "true")
	got = find(Judge(f), "dcbx-mismatch")
	assert.True(t, got != nil && got.Command == nil && got.Key != nil && !strings.Contains(*got.Key, "willing"),
		"willing: %+v", got)
}

// offload switches offloads on.
func offload(s *port.Survey, offloads ...string) {
	for _, o := range offloads {
		s.Offloads[o] = true
	}
}

// absent takes the port's interface away.
func (f *Facts) absent(netns string, why error) {
	t := &f.Targets[0]
	t.Survey, t.Netns, t.Absent = nil, netns, why
}

// mismatch makes the neighbor's priorities differ; willing tells whether the switch follows the neighbor.
func (f *Facts) mismatch(t *testing.T, willing string) {
	t.Helper()
	c, _, err := config.Parse("test.yaml", []byte("name: s1\npreset: roce\nlldp: {willing: "+willing+
		"}\nports: {p1: {interface: eth1}}\n"))
	must(t, err)
	f.Config, f.Targets[0].Config = c, &c.Ports[0]
	f.Targets[0].LLDP.DCBX = api.DCBX{Mismatch: true, LosslessPriorities: []api.Priority{3}}
}

func TestGolden(t *testing.T) {
	f := healthy(t)
	s := f.Targets[0].Survey
	s.Peer.MTU, s.Peer.Addresses = 9000, []string{"192.0.2.2/24"}
	s.Peer.VLANs = []port.VLANLink{{Name: "e0.10", VID: 10, Mapped: true}}
	f.Process.Capabilities = 0
	f.NotSeen = []string{"the far end of eth2: it has no name"}
	r := Judge(f)
	b := assert.Got(json.MarshalIndent(r, "", "  ")).Must(t)
	for name, got := range map[string]string{"doctor.json": string(b) + "\n", "doctor.txt": r.Text(),
		"detail.txt":  r.Detail(),
		"healthy.txt": Judge(healthy(t)).Text()} {
		golden.Check(t, name, got)
	}
}

// ReadMachine reads the kernel's files; a missing file leaves its value unknown.
func TestReadMachine(t *testing.T) {
	root := t.TempDir()
	if m := ReadMachine(root); m.Governor != nil || m.Clock != nil || m.BacklogMax != nil || m.BacklogDrops != 0 ||
		m.CPUs < 1 {
		t.Errorf("an empty machine: %+v", m)
	}
	for path, text := range map[string]string{
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
		"proc/sys/net/core/netdev_max_backlog":                            "1000\n",
		"proc/net/softnet_stat": "0000ffff 00000010 00000001\n00000001 " +
			"00000002 0\nx\n",
	} {
		path = filepath.Join(root, path)
		must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	m := ReadMachine(root)
	if m.Governor == nil || *m.Governor != "powersave" || m.Clock == nil || *m.Clock != "hpet" || m.BacklogMax == nil ||
		*m.BacklogMax != 1000 || m.BacklogDrops != 18 {
		t.Errorf("%+v", m)
	}
	p, err := ReadProcess(0)
	assert.True(t, err == nil && p.Program != "", "this process: %+v, %v", p, err)
	_, err = ReadProcess(1 << 30)
	assert.True(t, err != nil, "a process that is not there is read")
}

// Without an interface to inspect, doctor fails instead of reporting no fault.
func TestNothingToLookAt(t *testing.T) {
	for name, links := range map[string][]port.Link{"nothing": nil,
		"a bridge and the way here": {{Name: "br0", Kind: "bridge"}, {Name: "eth0", Kind: "veth", Default: true}}} {
		if all, err := targetsAmong(links); err == nil || !strings.Contains(err.Error(), "name a configuration file") {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
	all, err := targetsAmong([]port.Link{{Name: "eth1", Kind: "veth"}})
	assert.True(t, err == nil && len(all) == 1 && all[0].Interface == "eth1", "one: %v, %v", all, err)
}

// Every trap has its line in the short text.
func TestEveryTrapHasASummary(t *testing.T) {
	names := regexp.MustCompile(`(?:\(api\.Severity\w+, |Trap: +)"([a-z0-9-]+)"`)
	files := assert.Got(filepath.Glob("*.go")).Must(t)
	traps := 2 // gro and lro, which are no literals
	for _, file := range files {
		b := assert.Got(os.ReadFile(file)).Must(t)
		for _, m := range names.FindAllStringSubmatch(string(b), -1) {
			traps++
			assert.True(t, api.Summary(m[1]) != "", "%s: %s has no summary", file, m[1])
		}
	}
	assert.True(t, traps >= 30 && api.Summary("gro") != "" && api.Summary("lro") != "", "%d traps", traps)
}
