package config

import (
	"os"
	"path/filepath"
	"testing"

	"pfcswitch/dataplane/assert"
)

// A scale changes each speed and rate, wherever it stands, and nothing else. A link without a speed has that of the
// default, scaled.
func TestTopologyIsScaled(t *testing.T) {
	const text = `name: x
switches: {s1: {preset: roce, ports: {p3: {speed: &fast 1G, storm: 800K}}}, s2: {file: s2.yaml}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 200M, cable: 1km}
  l2: {ends: [h2, "s1:p2"]}
  l3: {ends: [h3, "s1:p3"], speed: 5G}
  l4: {ends: [h4, "s1:p4"], speed: *fast}
  up: {ends: ["s1:up", "s2:up"], speed: 200000000}
traffic:
  f: {from: h1, to: h2, rate: 50M}
  g: {from: h3, to: h4, rate: 2K}
faults: {tired: {slow: h2, rate: 10M}}
`
	read := func(string) ([]byte, error) { return []byte("preset: roce\nports: {up: {speed: 400M}}\n"), nil }
	whole := assert.Got(ParseTopology("lab.yaml", []byte(text), read)).Must(t)
	c := assert.Got(parseTopology("lab.yaml", []byte(text), read, reading{scale: 0.25})).Must(t)
	speeds := func(t *Topology) map[string]int64 {
		all := map[string]int64{"rate": t.Traffic[0].Rate, "slow": t.Faults[0].Rate}
		for _, p := range t.Switches[0].Config.Ports {
			if p.Name == "p3" {
				all["storm"] = p.Storm
			}
		}
		for _, s := range t.Switches {
			for _, p := range s.Config.Ports {
				all[s.Name+":"+p.Name] = p.Speed
			}
		}
		return all
	}
	want := map[string]int64{"rate": 50e6, "slow": 10e6, "storm": 800e3,
		"s1:p1": 200e6, "s1:p2": 1e9, "s1:p3": 1e9, "s1:p4": 1e9,
		"s1:up": 200e6, "s2:up": 400e6}
	assert.Equal(t, len(speeds(c)), len(want), "speeds")
	for name, bits := range want {
		assert.Equal(t, speeds(whole)[name], bits, "%s without a scale", name)
		assert.Equal(t, speeds(c)[name], bits/4, "%s with a scale", name)
	}
	assert.Equal(t, c.Traffic[1].Rate, 1000, "the lowest rate of a flow with a scale")
	assert.True(t, c.Switches[0].Config.Ports[1].Delay == whole.Switches[0].Config.Ports[1].Delay, "cables differ")
}

// What receive rings and delay lines would take of a machine is no limit of virtual time.
func TestVirtualTopology(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lab.yaml")
	assert.Must(t, os.WriteFile(path, []byte(
		"name: lab\nfabric: {fat-tree: {k: 16}, links: {speed: 800G, cable: 1km}, switches: {preset: roce}}\n"), 0o600))
	_, err := LoadTopology(path)
	assert.Fails(t, err, "those of all ports may take 2GiB", "links of 800G and 1 km in real time")
	lab := assert.Got(LoadVirtualTopology(path)).Must(t)
	_, err = lab.Switches[0].Config.Resolve(nil)
	assert.NoError(t, err, "resolved again")
}
