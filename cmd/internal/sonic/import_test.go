package sonic

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

var update = flag.Bool("update", false, "write the golden files")

// samples returns the files of testdata by name. Those of sonic-net say what files of SONiC's public tests say.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	all := read(t, "testdata/*.json", 4)
	maps.Copy(all, read(t, publicFiles, 4))
	return all
}

const publicFiles = "testdata/sonic-net/*.json"

func read(t *testing.T, pattern string, least int) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	assert.MustBeTrue(t, err == nil && len(paths) >= least, "%d files: %v", len(paths), err)
	all := map[string][]byte{}
	for _, path := range paths {
		all[path] = assert.Got(os.ReadFile(path)).Must(t)
	}
	return all
}

// Every sample becomes the configuration beside it, which package config accepts.
func TestSamples(t *testing.T) {
	for path, data := range samples(t) {
		im, err := Import(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		_, _, err = config.Parse(path, im.YAML)
		assert.True(t, err == nil, "%s: %v\n%s", path, err, im.YAML)
		golden := strings.TrimSuffix(path, ".json") + ".yaml"
		if *update {
			assert.Must(t, os.WriteFile(golden, im.YAML, 0o644))
		}
		want, err := os.ReadFile(golden)
		assert.True(t, err == nil && string(want) == string(im.YAML), "%s: %v: it has become\n%s", path, err, im.YAML)
	}
}

// A file of SONiC's tests that refers to ports and tables which it does not have is refused, with every such place.
func TestRefusedSample(t *testing.T) {
	for path, data := range read(t, "testdata/refused/*.json", 1) {
		_, err := Import(filepath.Base(path), data)
		assert.MustBeTrue(t, err != nil, "%s is taken", path)
		golden := strings.TrimSuffix(path, ".json") + ".txt"
		if *update {
			assert.Must(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
		}
		if want, readErr := os.ReadFile(golden); readErr != nil || string(want) != err.Error()+"\n" {
			t.Errorf("%s: %v: the error is\n%v", golden, readErr, err)
		}
	}
}

// What redis-dump writes is read as the fields inside of "value" are; what Redis adds is none of SONiC's.
func TestRedisDump(t *testing.T) {
	const fields = `{"admin_status": "up", "speed": "10000", "lanes@": "1,2"}`
	plain := assert.Got(Import("f", []byte(`{"PORT|Ethernet0": `+fields+`}`))).Must(t)
	dumped, err := Import("f", []byte(`{"PORT|Ethernet0": {"expireat": 1602451533.2, "ttl": -0.001, "type": "hash",
		"value": `+fields+`}}`))
	assert.True(t, err == nil && string(dumped.YAML) == string(plain.YAML),
		"%v: a dump becomes\n%s\nand the same file without what Redis adds\n%s", err, dumped.YAML, plain.YAML)
	dumped, err = Import("f", []byte(`{"CONFIG_DB_INITIALIZED": {"expireat": 1602451533.2, "ttl": -0.001, "type": "string",
		"value": "1"}, "PORT|Ethernet0": `+fields+`}`))
	assert.Must(t, err)
	text := Place{Table: "CONFIG_DB_INITIALIZED"}
	assert.True(t, slices.ContainsFunc(dumped.Left, func(l Left) bool { return l.Place == text }),
		"a single text is not listed: %v", dumped.Left)
	_, err = Import("f", []byte(`{"PORT": "1"}`))
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "f: PORT: want an object"),
		"a table that is a single text gives %v", err)
	_, err = Import("f", []byte(`{"PORT|Ethernet0": {"value": {"speed": {}}}}`))
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "f: PORT|Ethernet0|speed: want a text"),
		"a field that is an object gives %v", err)
	_, err = Import("f", []byte(`{"PORT|Ethernet0": {"ttl": -1, "mtu": "9100", "value": {"speed": "10000"}}}`))
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "f: PORT|Ethernet0|mtu: stands beside the fields"),
		"a field beside value gives %v", err)
}

// Tables that have nothing to do with the system around the switch say what stands for them here.
func TestReasons(t *testing.T) {
	im := assert.Got(Import("f", []byte(`{"PORT": {"Ethernet0": {"admin_status": "up", "mode": "trunk"}},
		"PORT_STORM_CONTROL": {"Ethernet0|broadcast": {"kbps": "1"}}, "LLDP": {"GLOBAL": {"hello_time": "12"}},
		"VLAN": {"Vlan2": {}}, "VLAN_MEMBER": {"Vlan2|PortChannel1": {"tagging_mode": "tagged"}}}`))).Must(t)
	for at, want := range map[Place]string{
		{Table: "PORT_STORM_CONTROL"}:                     "ports.NAME.storm",
		{Table: "LLDP"}:                                   "stands in lldp",
		{Table: "PORT", Key: "Ethernet0", Field: "mode"}:  "VLAN_MEMBER says",
		{Table: "VLAN_MEMBER", Key: "Vlan2|PortChannel1"}: "no link aggregation",
	} {
		assert.True(t, slices.ContainsFunc(im.Left, func(l Left) bool {
			return l.Place == at && strings.Contains(l.Why, want)
		}), "%s: %v, want one with %q", at, im.Left, want)
	}
}

// Faults name the place, what is wrong and what to do.
func TestFaults(t *testing.T) {
	const ports = `"PORT": {"Ethernet0": {"speed": "10000", "admin_status": "up"}}`
	lossless := ports + `, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}`
	for text, want := range map[string]string{
		`{"PORT": {"Ethernet0": {"admin_status": "up", "pfc_asym": "yes"}}}`: `f: PORT|Ethernet0|pfc_asym: "yes" is neither ` +
			`on nor off: write one of them`,
		`{`:                                   `f: line 1: EOF: write JSON as "config save" does`,
		`[]`:                                  `f: want an object of the form {"name": …}: write table, key and fields`,
		`{` + ports + `} {}`:                  `f: line 1: something stands behind the last brace: remove it`,
		`{"PORT": {"Ethernet0": {}}, "x": 1}`: `f: x: want an object`,
		`{"PORT": {"Ethernet0": {"a": {}}}}`:  `f: PORT|Ethernet0|a: want a text or a list of texts`,
		`{"PORT": {"Ethernet0": {"mtu": "9100", "mtu": "1500"}}}`: `f: PORT|Ethernet0: "mtu" stands twice: keep one`,
		`{"PORT": {"Ethernet0": {}}, "PORT|Ethernet0": {}}`:       `f: PORT|Ethernet0: stands twice: keep one`,
		`{}`: `f: PORT: there is no port that is up: add one`,
		`{"PORT": {"Ethernet0": {"speed": "10G", "admin_status": "up"}}}`:      `f: PORT|Ethernet0|speed: "10G" is no number from 1 to`,
		`{"PORT": {"Ethernet0": {"speed": "90000000", "admin_status": "up"}}}`: `f: PORT|Ethernet0|speed: "90000G" is out of range: write 1M to`,
		`{"PORT": {"Ethernet0": {"mtu": "70000", "admin_status": "up"}}}`:      `f: PORT|Ethernet0|mtu: "70000"`,
		`{"PORT": {"Ethernet 0": {}}}`:                                         `f: PORT|Ethernet 0: the key cannot name a Linux interface`,
		`{"PORT": {"Ethernet0": {"admin_status": "maybe"}}}`:                   `f: PORT|Ethernet0|admin_status: "maybe" is neither`,
		`{` + ports + `, "PORT_QOS_MAP": {"Ethernet0": {"tc_to_queue_map": "AZURE"}}}`: `f: PORT_QOS_MAP|Ethernet0|` +
			`tc_to_queue_map: TC_TO_QUEUE_MAP has no key "AZURE": add it there, or name another`,
		`{` + ports + `, "PORT_QOS_MAP": {"Ethernet0": {"tc_to_queue_map": "[QUEUE|AZURE]"}}}`: `f: PORT_QOS_MAP|` +
			`Ethernet0|tc_to_queue_map: "[QUEUE|AZURE]" refers to table QUEUE: refer to a key of TC_TO_QUEUE_MAP`,
		`{` + ports + `, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3-4"}}}`: `f: PORT_QOS_MAP|Ethernet0|pfc_enable: ` +
			`"3-4" is no list of priorities: write some of 0 to 7, such as 3,4`,
		`{` + ports + `, "QUEUE": {"Ethernet4|3": {}}}`: `f: QUEUE|Ethernet4|3: PORT has no "Ethernet4": add it there`,
		`{` + ports + `, "QUEUE": {"Ethernet0": {}}}`:   `f: QUEUE|Ethernet0: the key is not of the form port|3 or port|3-4`,
		`{` + ports + `, "QUEUE": {"Ethernet0|3": {}, "Ethernet0|3-4": {}}}`: `f: QUEUE|Ethernet0|3-4: Ethernet0|3 stands ` +
			`in QUEUE|Ethernet0|3 too: keep one`,
		`{` + ports + `, "QUEUE": {"Ethernet0|3": {"scheduler": "s"}}, "SCHEDULER": {"s": {"type": "FIFO"}}}`: `f: SCHEDULER|` +
			`s|type: "FIFO" is no way to serve a queue: write STRICT, WRR or DWRR`,
		`{` + ports + `, "QUEUE": {"Ethernet0|3": {"scheduler": "s"}}, "SCHEDULER": {"s": {"type": "DWRR", "weight": "200"}}}`: `f: ` +
			`SCHEDULER|s|weight: "200"`,
		`{` + ports + `, "QUEUE": {"Ethernet0|3": {"wred_profile": "w"}}, "WRED_PROFILE": {"w": {"ecn": "ecn_all"}}}`: `f: ` +
			`WRED_PROFILE|w: marking needs green_min_threshold and green_max_threshold: write both`,
		`{` + ports + `, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "far"}}}`: `f: CABLE_LENGTH|AZURE|Ethernet0: "far" is no ` +
			`length: write metres, such as 40m`,
		`{` + lossless + `, "PFC_WD": {"Ethernet0": {"action": "cry", "detection_time": "200"}}}`: `f: PFC_WD|Ethernet0|action: ` +
			`"cry" is no action: write drop, forward or alert`,
		`{` + lossless + `, "PFC_WD": {"Ethernet0": {"detection_time": "9000"}}}`: `f: PFC_WD|Ethernet0|detection_time: "9000ms"`,
		`{` + ports + `, "VLAN": {"Vlan10": {"vlanid": "11"}}}`:                   `f: VLAN|Vlan10|vlanid: "11" is not the number in the key`,
		`{` + ports + `, "VLAN_MEMBER": {"Vlan10|Ethernet0": {}}}`: `f: VLAN_MEMBER|Vlan10|Ethernet0: VLAN has no key ` +
			`"Vlan10": add it there`,
		`{` + ports + `, "VLAN": {"Vlan1": {}, "Vlan2": {}}, "VLAN_MEMBER": {"Vlan1|Ethernet0": {"tagging_mode": "untagged"},
			"Vlan2|Ethernet0": {"tagging_mode": "untagged"}}}`: `f: VLAN_MEMBER|Vlan2|Ethernet0|tagging_mode: Ethernet0 is ` +
			`untagged in Vlan1|Ethernet0: make it tagged in one of the two`,
		`{` + lossless + `, "BUFFER_POOL": {"ingress_lossless_pool": {"size": "12"}}}`: `f: BUFFER_POOL|` +
			`ingress_lossless_pool|size: `,
	} {
		_, err := Import("f", []byte(text))
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%s\ngives %v\nwant  %s", text, err, want)
	}
}

// What no single field says, but all ports together, is told at the ports, with the key that has no room.
func TestTooManyPorts(t *testing.T) {
	for _, tt := range []struct {
		ports, speed int
		want         string
	}{
		{300, 1_000, "(ports: 300 ports: a switch has at most 256"},
		{96, 400_000, "(buffer.cell: 256B: the pools would have"},
		{256, 400_000, "(buffer.lossless.size: auto would be"},
	} {
		var ports, maps []string
		for i := range tt.ports {
			ports = append(ports, fmt.Sprintf(`"Ethernet%d": {"admin_status": "up", "speed": "%d"}`, i, tt.speed))
			maps = append(maps, fmt.Sprintf(`"Ethernet%d": {"pfc_enable": "3,4"}`, i))
		}
		_, err := Import("f", fmt.Appendf(nil, `{"PORT": {%s}, "PORT_QOS_MAP": {%s}}`, strings.Join(ports, ","),
			strings.Join(maps, ",")))
		const place = "f: PORT: together the ports are too much for one switch: take some down, or lower their speed " +
			"or cable length "
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), place+tt.want), "%d ports of %dM: %v", tt.ports,
			tt.speed, err)
	}
}

// What SONiC takes where a port says nothing: it is down, and its MTU is 9100.
func TestDefaultsOfSONiC(t *testing.T) {
	im, err := Import("f", []byte(`{"PORT": {"Ethernet0": {"admin_status": "up"}, "Ethernet4": {"speed": "10000"}}}`))
	assert.Must(t, err)
	cfg, _, err := config.Parse("f", im.YAML)
	assert.True(t, err == nil && len(cfg.Ports) == 1 && cfg.Ports[0].Name == "Ethernet0" && cfg.Ports[0].MTU == 9100,
		"%v: %s", err, im.YAML)
	assert.True(t, len(im.Left) == 1 && im.Left[0].Place == (Place{"PORT", "Ethernet4", ""}),
		"left are %v, want the port without admin_status", im.Left)
}

// A text that could end a comment stands in quotes.
func TestKeysCannotEndAComment(t *testing.T) {
	im, err := Import("f", []byte(`{"PORT": {"Ethernet0": {"a\nports: {}\n": "1", "admin_status": "up"}}, "T\nname: x": {},
		"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}, "BUFFER_PG": {"Ethernet0|3": {"profile": "a"},
		"Ethernet0|4": {"profile": "b"}}, "BUFFER_PROFILE": {"a": {"pool": "a\ncapture: {ring: on}\n#"},
		"b": {"pool": "b"}}, "BUFFER_POOL": {"a\ncapture: {ring: on}\n#": {}, "b": {}}}`))
	assert.Must(t, err)
	cfg, _, err := config.Parse("f", im.YAML)
	assert.True(t, err == nil && cfg.Name == "pfcswitch" && len(cfg.Ports) == 1 && !cfg.Capture.Ring,
		"%v: %s", err, im.YAML)
}
