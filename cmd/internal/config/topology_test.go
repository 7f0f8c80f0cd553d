package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// noFiles is where switches name no file.
func noFiles(string) ([]byte, error) { return nil, fs.ErrNotExist }

func TestTopology(t *testing.T) {
	lab := assert.Got(ParseTopology("/labs/pair.yaml", []byte(`
name: pair
switches:
  s1:
    preset: roce
    ports: {p1: {mtu: 9000, speed: 1G}}
  s2: {file: s2.yaml}
hosts:
  h1: {mac: "02:00:00:00:00:01"}
  h2: {addresses: [10.0.0.2/24], nic: true}
links:
  l1: {ends: [h1, "s1:p1"], speed: 200M, cable: 1km, mtu: 9000}
  l2: {ends: [h2, "s2:p1"], speed: 300M, delay: 5us}
  up: {ends: ["s1:up", "s2:up"]}
`), func(path string) ([]byte, error) {
		assert.Equal(t, path, "/labs/s2.yaml", "reads")
		return []byte("name: leaf2\npreset: roce\napi: {socket: /s2.sock}\n"), nil
	})).Must(t)
	assert.MustBeTrue(t, len(lab.Switches) == 2 && len(lab.Hosts) == 2 && len(lab.Links) == 3,
		"got %d switches, %d hosts, %d links", len(lab.Switches), len(lab.Hosts), len(lab.Links))
	s1, s2, nic := lab.Switches[0].Config, lab.Switches[1].Config, lab.Hosts[1].NIC
	assert.True(t, s1.Name == "s1" && s1.API.Socket == "/run/pfcswitch-labs/pair-s1.sock",
		"s1 is %s at %s", s1.Name, s1.API.Socket)
	assert.True(t, s2.Name == "leaf2" && s2.API.Socket == "/s2.sock",
		"what its file says: s2 is %s at %s", s2.Name, s2.API.Socket)
	for _, test := range []struct {
		of    *Config
		port  string
		speed int64
		delay time.Duration
		mtu   int
	}{
		{s1, "p1", 1e9, 5 * time.Microsecond, 9000}, // its own speed before that of the link
		{s1, "up", 1e9, 0, 1500},
		{s2, "p1", 300e6, 5 * time.Microsecond, 1500},
		{nic, "eth0", 300e6, 5 * time.Microsecond, 1500},
		{nic, "host0", 0, 0, 1500},
	} {
		i := slices.IndexFunc(test.of.Ports, func(p Port) bool { return p.Name == test.port })
		if i < 0 {
			t.Errorf("%s has no port %s", test.of.Name, test.port)
			continue
		}
		if p := test.of.Ports[i]; p.Speed != test.speed || p.Delay != test.delay || p.MTU != test.mtu {
			t.Errorf("%s:%s: %d bit/s, %v, MTU %d; want %+v", test.of.Name, test.port, p.Speed, p.Delay, p.MTU, test)
		}
	}
	l := lab.Links[0]
	assert.True(t, l.MTU == 9000 && l.Ends == [2]LabEnd{{"h1", "eth0"}, {"s1", "p1"}}, "link l1 is %+v", l)
	assert.True(t, lab.Hosts[0].MAC.String() == "02:00:00:00:00:01" && lab.Hosts[1].MAC == nil,
		"addresses: %v, %v", lab.Hosts[0].MAC, lab.Hosts[1].MAC)
}

// Faults have the line and key where they are, in every part of the file.
func TestTopologyFaults(t *testing.T) {
	const wired = "name: a\nswitches: {s: {preset: roce}}\nhosts: {h: {}, g: {}, k: {}}\nlinks: {l: {ends: [h, " +
		"\"s:p1\"], mtu: 9000}, m: {ends: [g, \"s:p2\"]}}\n"
	const pair = "name: a\nswitches: {s: {preset: roce}}\nhosts: {h: {}}\n"
	for _, test := range []struct{ name, text, want string }{
		{"no name", "switches: {s: {}}", "lab.yaml:1: name: the lab has no name"},
		{"a name that is none", "name: A-b\nswitches: {s: {}}", "lab.yaml:1: name: \"A-b\" is not a lab's name"},
		{"nothing in it", "name: a", "lab.yaml:1: switches: the lab is empty"},
		{"not YAML", "name: [", "lab.yaml:1: not YAML"},
		{"an unknown key", pair + "link: {}", "lab.yaml:4: link: unknown key: did you mean links?"},
		{"an unknown key of a switch", "name: a\nswitches:\n  s:\n    presets: roce",
			"lab.yaml:4: switches.s.presets: unknown key: did you mean preset?"},
		{"a port's fault", "name: a\nswitches:\n  s:\n    ports:\n      p1: {speed: fast}\nhosts: {h: {}}\nlinks: " +
			"{l: {ends: [h, \"s:p1\"]}}", "lab.yaml:5: switches.s.ports.p1.speed: \"fast\""},
		{"a link's key", pair + "links:\n  l: {ends: [h, \"s:p1\"], speed: fast}",
			"lab.yaml:5: switches.s.ports.p1.speed: \"fast\""},
		{"an unknown key of a link", pair + "links:\n  l:\n    ends: [h, \"s:p1\"]\n    rate: 1G",
			"lab.yaml:7: switches.s.ports.p1.rate: unknown key"},
		{"a key that nobody obeys", "name: a\nhosts: {h: {}, g: {}}\nlinks:\n  l: {ends: [h, g], speed: 1G}",
			"lab.yaml:4: links.l.speed: is a key of ports, and none is at this link"},
		{"one end", pair + "links: {l: {ends: [h]}}", "lab.yaml:4: links.l.ends: want the two ends"},
		{"no ends", pair + "links: {l: {}}", "lab.yaml:4: links.l: has no ends"},
		{"an end that is none", pair + "links: {l: {ends: [h, \"s:\"]}}",
			"lab.yaml:4: links.l.ends[1]: \"s:\" is no end of a link"},
		{"a node that is not there", pair + "links: {l: {ends: [g, \"s:p1\"]}}",
			"lab.yaml:4: links.l.ends: \"g\" is no switch and no host"},
		{"an end taken twice", pair + "links: {l: {ends: [h, \"s:p1\"]}, m: {ends: [h, \"s:p2\"]}}",
			"h:eth0 is an end of link l already: write another interface, such as h:eth1"},
		{"a port without a link", "name: a\nswitches:\n  s:\n    ports:\n      p9: {}",
			"lab.yaml:5: switches.s.ports.p9: no link leads to p9"},
		{"a port elsewhere", "name: a\nswitches: {s: {ports: {p1: {netns: x}}}}\nhosts: {h: {}}\nlinks: {l: {ends: " +
			"[h, \"s:p1\"]}}", "has a netns"},
		{"a host NIC without a link", "name: a\nhosts:\n  h: {nic: true}", "lab.yaml:3: hosts.h"},
		{"one name twice", "name: a\nswitches: {s: {}}\nhosts:\n  s: {}", "lab.yaml:4: hosts.s: is a switch too"},
		{"a name that is none for a node", "name: a\nswitches:\n  \"s 1\": {}",
			"lab.yaml:3: switches.s 1: cannot name a node"},
		{"a file that is not there", "name: a\nswitches:\n  s: {file: s.yaml}",
			"lab.yaml:3: switches.s.file: file does not exist"},
		{"a file and keys", "name: a\nswitches:\n  s: {file: s.yaml, preset: roce}",
			"lab.yaml:3: switches.s: has a file and other keys"},
		{"a list for a switch", "name: a\nswitches:\n  s: [1]", "lab.yaml:3: switches.s: want a mapping"},
		{"traffic of nobody", wired + "traffic:\n  f: {from: h, to: x}",
			"lab.yaml:6: traffic.f.to: \"x\" is no host: add it to hosts"},
		{"traffic of an unlinked host", wired + "traffic:\n  f: {incast: k}",
			"lab.yaml:6: traffic.f.incast: no link leads to k: add one"},
		{"traffic to itself", wired + "traffic: {f: {from: h, to: h}}", "lab.yaml:5: traffic.f: no frame would go"},
		{"traffic in no form", wired + "traffic: {f: {from: h}}", "lab.yaml:5: traffic.f: want one of five forms"},
		{"traffic in two forms", wired + "traffic: {f: {permutation: on, incast: h}}",
			"lab.yaml:5: traffic.f: want one of five forms"},
		{"an unknown key of traffic", wired + "traffic: {f: {from: h, too: g}}",
			"lab.yaml:5: traffic.f.too: unknown key: did you mean to?"},
		{"no priority", wired + "traffic: {f: {from: h, to: g, priority: 8}}", "lab.yaml:5: traffic.f.priority: \"8\""},
		{"no rate", wired + "traffic: {f: {from: h, to: g, rate: 0}}", "lab.yaml:5: traffic.f.rate: \"0\""},
		{"no time", wired + "traffic: {f: {from: h, to: g, duration: 0}}", "lab.yaml:5: traffic.f.duration: \"0\""},
		{"poisson without a load", wired + "traffic: {f: {poisson: hadoop}}",
			"lab.yaml:5: traffic.f: poisson and load go together"},
		{"poisson of no paper", wired + "traffic: {f: {poisson: websearch, load: 1%}}",
			"lab.yaml:5: traffic.f.poisson: \"websearch\" is unknown: did you mean web-search?"},
		{"congestion control of no paper", wired + "traffic: {f: {from: h, to: g, cc: dqcn}}",
			"lab.yaml:5: traffic.f.cc: \"dqcn\" is unknown: did you mean dcqcn?"},
		{"poisson with a size", wired + "traffic:\n  f: {poisson: hadoop, load: 1%, size: 1kB}",
			"lab.yaml:6: traffic.f.size: poisson gives the sizes"},
		{"poisson from one host to itself", wired + "traffic: {f: {poisson: hadoop, load: 1%, from: h, to: h}}",
			"lab.yaml:5: traffic.f: no frame would go"},
		{"all to all from some", wired + "traffic: {f: {all-to-all: on, from: h}}", "lab.yaml:5: traffic.f: want one"},
		{"a storm of nobody", wired + "faults:\n  f: {storm: x}", "lab.yaml:6: faults.f.storm: \"x\" is no host"},
		{"a slow host without a link", wired + "faults: {f: {slow: k, rate: 1G}}",
			"lab.yaml:5: faults.f.slow: \"k\" is no host"},
		{"a slow host without a rate", wired + "faults: {f: {slow: h}}",
			"lab.yaml:5: faults.f: slow and rate go together"},
		{"a flap of no link", wired + "faults: {f: {flap: x}}", "lab.yaml:5: faults.f.flap: \"x\" is no link"},
		{"no fault", wired + "faults: {f: {}}", "lab.yaml:5: faults.f: want one of storm: HOST"},
		{"two faults", wired + "faults: {f: {storm: h, flap: l}}", "lab.yaml:5: faults.f: want one of storm: HOST"},
		{"a fault that never ends, again", wired + "faults: {f: {storm: h, every: 1ms}}",
			"lab.yaml:5: faults.f.every: comes again before it has ended"},
		{"long frames", wired + "traffic: {f: {from: h, to: g, octets: 1519}}",
			"lab.yaml:5: traffic.f.octets: m carries frames of 1518 octets at most"},
	} {
		_, err := ParseTopology("lab.yaml", []byte(test.text), noFiles)
		var faults *Errors
		assert.True(t, errors.As(err, &faults) && strings.Contains(err.Error(), test.want),
			"%s: %v; want %q", test.name, err, test.want)
	}
}

// Traffic is read in three forms, with defaults.
func TestTopologyTraffic(t *testing.T) {
	lab := assert.Got(ParseTopology("lab.yaml", []byte(`
name: a
switches: {s: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}, alone: {}}
links:
  l1: {ends: [h1, "s:p1"], mtu: 9000}
  l2: {ends: [h2, "s:p2"], mtu: 4000}
  l3: {ends: [h3, "s:p3"]}
  l4: {ends: [h4, "s:p4"]}
traffic:
  one: {from: h1, to: h2}
  some: {from: [h1, h2], to: [h2, h3], priority: 0, octets: 64, rate: 1.5M, start: 10us, duration: 5ms}
  all: {incast: h3}
  part: {incast: h3, from: h4, rate: saturating}
  half: {permutation: on}
`), noFiles)).Must(t)
	got := map[string]LabTraffic{}
	for _, f := range lab.Traffic {
		got[f.Name] = f
	}
	for name, pairs := range map[string][][2]string{
		"one":  {{"h1", "h2"}},
		"some": {{"h1", "h2"}, {"h1", "h3"}, {"h2", "h3"}},
		"all":  {{"h1", "h3"}, {"h2", "h3"}, {"h4", "h3"}},
		"part": {{"h4", "h3"}},
		"half": {{"h1", "h3"}, {"h2", "h4"}, {"h3", "h1"}, {"h4", "h2"}},
	} {
		f := got[name]
		assert.Same(t, f.Pairs(), pairs, "%s", name)
	}
	f := got["one"]
	assert.True(t, f.Priority == 3 && f.Octets == 4018 && f.Rate == 0 && f.Start == 0 && f.Duration == time.Second,
		"defaults: %+v", f)
	f = got["some"]
	assert.True(t, f.Priority == 0 && f.Octets == 64 && f.Rate == 1_500_000 && f.Start == 10*time.Microsecond &&
		f.Duration == 5*time.Millisecond, "written: %+v", f)
	f = got["all"]
	assert.True(t, f.Octets == 1518 && got["part"].Rate == 0, "%+v, %+v", f, got["part"])
	e := lab.Errorf("traffic.all.incast", "x")
	assert.True(t, e.Error() == "lab.yaml:13: traffic.all.incast: x", "%v", e)
}

// Two long lists of hosts are refused before their pairs are made.
func TestTopologyBoundsPairs(t *testing.T) {
	text, all := "name: a\nlinks:\n", ""
	for i := range 300 {
		text += fmt.Sprintf("  l%d: {ends: [h%[1]d, \"g%[1]d:eth0\"]}\n", i)
		all += fmt.Sprintf("\n      - h%d", i)
	}
	text += "hosts:\n"
	for i := range 300 {
		text += fmt.Sprintf("  h%d: {}\n  g%[1]d: {}\n", i)
	}
	_, err := ParseTopology("lab.yaml", []byte(text+"traffic:\n  f:\n    from:"+all+"\n    to:"+all+"\n"), noFiles)
	assert.True(t, err != nil &&
		err.Error() == "lab.yaml:905: traffic.f: more than 65536 pairs of hosts in all: write fewer", "%v", err)
}

// A fault in the file of a switch has that file's name.
func TestTopologyFileFault(t *testing.T) {
	_, err := ParseTopology("lab.yaml", []byte("name: a\nswitches: {s: {file: s.yaml}}"),
		func(string) ([]byte, error) { return []byte("\n\nno_such: 1"), nil })
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "s.yaml:3: no_such: unknown key"), "got %v", err)
}

func TestTopologyName(t *testing.T) {
	for text, want := range map[string]string{"name: a\nswitches: [": "", "name: a\nno_such: 1": "a", "name: A B": "",
		"": "", "[1]": ""} {
		assert.Equal(t, TopologyName([]byte(text)), want, "%q", text)
	}
}

// Whatever stands in a file, it is a lab whose configurations are whole, or an error with a line.
func FuzzTopology(f *testing.F) {
	good := expansions{}
	f.Add("name: a\nswitches: {s: {preset: roce}}\nhosts: {h: {nic: true}}\nlinks: {l: {ends: [h, \"s:p1\"], speed: " +
		"1G}}")
	f.Add("name: a\nswitches: {s: &x {ports: {<<: *x}}}\nlinks: {l: {ends: [\"s:a\", \"s:b\"]}}")
	f.Add("name: a\nswitches: {s: {file: x}, t: }\nhosts: {h: {mac: \"02:00:00:00:00:01\"}}\nlinks: {l: {ends: [h, " +
		"\"t:1\"], 3: }}")
	f.Add("name: a\nfabric: {ring: {switches: 3, hosts: 1}, links: {speed: 1G}, switches: &x {preset: roce}}\nlinks: " +
		"{h1: *x}")
	f.Fuzz(func(t *testing.T, text string) {
		lab, err := ParseTopology("lab.yaml", []byte(text), func(string) ([]byte, error) { return []byte(text), nil })
		if err != nil {
			var faults *Errors
			assert.MustBeTrue(t, errors.As(err, &faults) && len(faults.List) != 0, "an error without a fault: %v", err)
			return
		}
		for _, s := range lab.Switches {
			good.wantReadAgain(t, Expand(s.Config))
		}
	})
}
