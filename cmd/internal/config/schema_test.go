package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pfcswitch/cmd/internal/readme"
	"pfcswitch/dataplane/assert"
)

// validator compiles the schema with a validator of others, which holds it against the standard's own schema.
func validator(t testing.TB, schema *Schema) func(text []byte) error {
	t.Helper()
	b := assert.Got(schema.JSON()).Must(t)
	parsed := assert.Got(jsonschema.UnmarshalJSON(bytes.NewReader(b))).Must(t)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	assert.Must(t, c.AddResource("pfcswitch.json", parsed))
	s := assert.Got(c.Compile("pfcswitch.json")).Must(t)
	return func(text []byte) error {
		v, err := asJSON(text)
		if err != nil {
			return err
		}
		return s.Validate(v)
	}
}

// asJSON reads YAML as a validator of JSON wants it.
func asJSON(text []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(b))
}

// Every key has a sentence, and no sentence stands for a key that there is not.
func TestSchemaDescribesEveryKey(t *testing.T) {
	texts, named := keyTexts(), map[string]bool{}
	look := func(path string, s *Schema) {
		assert.True(t, texts[path] != "", "keys.txt says nothing of %s", path)
		named[path] = true
		assert.True(t, len(s.AnyOf) != 0 || s.Type != nil || s.Enum != nil || s.Not != nil, "%s may be anything", path)
	}
	NewSchema().Walk(look)
	NewLabSchema().Walk(func(path string, s *Schema) { look(inLab(path), s) })
	for path := range texts {
		assert.True(t, named[path], "keys.txt describes %s, which is no key", path)
	}
}

// The readers find no fault when they describe themselves.
func TestDescribingIsNoReading(t *testing.T) {
	r := &labReader{doc: &document{lines: map[string]int{}}}
	for _, fields := range [][]field{defaults().sections(), r.sections()} {
		doc := &document{lines: map[string]int{}}
		value{doc: doc, schema: &Schema{}}.read(fields...)
		for _, fault := range append(doc.faults, r.doc.faults...) {
			t.Error(fault)
		}
	}
}

// Every default of the schema is a value of its key, and what the empty file means.
func TestSchemaDefaults(t *testing.T) {
	valid := validator(t, NewSchema())
	n := 0
	NewSchema().Walk(func(path string, s *Schema) {
		if s.Default == nil || strings.HasPrefix(path, "trunks.") {
			return
		}
		n++
		text := fmt.Appendf(nil, "%v", s.Default)
		keys := strings.Split(strings.NewReplacer("queues.*", "queues.3", "ecn.*", "ecn.3", ".*", ".p1").Replace(path),
			".")
		for i := range keys {
			text = fmt.Appendf(nil, "{%s: %s}", keys[len(keys)-1-i], text)
		}
		assert.NoError(t, valid(text), "%s", text)
		got, _, err := Parse("test.yaml", text)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		without := "{}"
		if strings.HasPrefix(path, "ports.") {
			without = "ports: {p1: }"
		}
		want := mustParse(t, without)
		assert.Equal(t, string(Expand(got)), string(Expand(want)), "%s is not the default", text)
	})
	assert.True(t, n >= 60, "only %d defaults", n)
}

// beyond are the bad files whose fault the schema cannot see: contradicting keys, and what YAML itself forbids.
var beyond = []string{
	"documents.yaml",                                              // two YAML documents
	"loopback.yaml", "port_contradictions.yaml", "tap_wires.yaml", // keys that contradict each other
	"static.yaml", "static_xon.yaml", "watchdog_poll.yaml", "headroom_pool.yaml", "dsh_pool.yaml",
	"watchdog_slow.yaml", "trunk_drops.yaml", "trunk_rates.yaml", "trunk_unmetered.yaml", //
	"pool_headroom.yaml", "pool_lossy.yaml", "pool_shared.yaml", // what does not fit into the buffer
}

// The schema takes the good files of the project and refuses the bad ones.
func TestSchemaJudgesAsParse(t *testing.T) {
	valid := validator(t, NewSchema())
	var good, bad []string
	for _, pattern := range []string{"testdata/*/*.yaml", "../../../scripts/*.yaml"} {
		files, err := filepath.Glob(pattern)
		assert.MustBeTrue(t, err == nil && len(files) != 0, "%s: %d files, %v", pattern, len(files), err)
		for _, file := range files {
			if filepath.Base(file) == "fat-tree.yaml" {
				continue // a lab
			}
			data := assert.Got(os.ReadFile(file)).Must(t)
			_, _, fault := Parse(file, data)
			judged := valid(data)
			name := filepath.Base(file)
			switch {
			case fault == nil:
				good = append(good, file)
				assert.NoError(t, judged, "%s is a good file, and the schema says", file)
			case slices.Contains(beyond, name):
				assert.True(t, judged == nil, "%s: the schema refuses it, so that it does not belong in the list", name)
			case judged == nil:
				t.Errorf("%s is a bad file, and the schema takes it:\n%v", name, fault)
			default:
				bad = append(bad, file)
			}
		}
	}
	texts := assert.Got(readme.All(os.DirFS("../../.."))).Must(t)
	for file, text := range texts {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(text, -1) {
			good = append(good, file)
			if err := valid([]byte(block[1])); err != nil {
				t.Errorf("%s: %v\n%s", file, err, block[1])
			}
		}
	}
	assert.True(t, len(good) >= 5 && len(bad) >= 10, "%d good and %d bad files show little", len(good), len(bad))
	t.Logf("%d good files, %d bad ones, %d whose fault is beyond a schema", len(good), len(bad), len(beyond))
}

// The schema of labs takes the lab files of the project and of its README files, and refuses the bad ones.
func TestLabSchemaJudgesAsParse(t *testing.T) {
	valid := validator(t, NewLabSchema())
	files := assert.Got(filepath.Glob("../../../scripts/lab/*.yaml")).Must(t)
	files = append(files, "../../../scripts/fat-tree.yaml")
	good := map[string][]byte{}
	for _, file := range files {
		good[file] = assert.Got(os.ReadFile(file)).Must(t)
	}
	texts := assert.Got(readme.All(os.DirFS("../../.."))).Must(t)
	for file, text := range texts {
		labs := regexp.MustCompile("(?ms)^```yaml lab(?: sim)?\n(.*?)^```")
		for i, block := range labs.FindAllStringSubmatch(text, -1) {
			good[fmt.Sprint(file, " ", i)] = []byte(block[1])
		}
	}
	for file, text := range good {
		assert.NoError(t, valid(text), "%s is a good file, and the schema says", file)
	}
	assert.True(t, len(files) >= 5 && len(good) >= len(files)+3,
		"%d files, %d with those of README files, show little", len(files), len(good))
	const whole = "name: a\nswitches: {s1: {preset: roce}}\nhosts: {h1: , h2: }\n" +
		"links: {l1: {ends: [h1, \"s1:p1\"]}, l2: {ends: [h2, \"s1:p2\"]}}\n"
	for _, text := range []string{whole, whole + "traffic: {f1: {from: h1, to: [h2], rate: 20M}}",
		whole + "faults: {x1: {storm: h2}}",
		"name: a\nfabric: {dumbbell: {hosts: 1}}\nlinks: {h1: {speed: 1G}, h2: }"} {
		if _, err := ParseTopology("a", []byte(text), nil); err != nil || valid([]byte(text)) != nil {
			t.Errorf("%s: Parse says %v, the schema %v", text, err, valid([]byte(text)))
		}
	}
	for _, bad := range []string{
		"traffic: {f1: {form: h1, to: h2}}", "traffic: {f1: {from: h1, to: h2, priority: 8}}",
		"traffic: {f1: {from: h1, to: h2, rate: fast}}", "traffic: {f1: {incast: h1, cc: tcp}}", "loads: {}",
		"faults: {x1: {storm: h2, start: soon}}", "faults: {x1: {strom: h2}}", "parts: {left: {address: here}}",
		"parts: {left: {addr: 192.0.2.1}}", "fabric: {fat-tree: {k: 0}}", "fabric: {leaf-spine: {leaves: 2}}",
		"fabric: {star: {hosts: 3}}", "fabric: {ring: {switches: 3, hosts: 1}, spread: evenly}",
	} {
		bothRefuse(t, valid, whole+bad)
	}
	for _, change := range [][2]string{
		{"name: a", "nam: a"}, {"name: a", "name: A-B"}, {"preset: roce", "preset: rocky"},
		{"{h1: ,", "{h1: {nic: 3},"}, {"{h1: ,", "{h1: {mac: zz},"}, {"{h1: ,", "{h1: {addresses: [10.0.0.1]},"},
		{"[h1, \"s1:p1\"]", "[h1]"}, {"{ends: [h1, \"s1:p1\"]}", "{}"}, {"{ends: [h1, \"s1:p1\"]}", ""},
		{"ends: [h1,", "end: [h1,"}, {"\"s1:p1\"]", "\"s1:p1\"], speed: fast"},
		{"\"s1:p1\"]", "\"s1:p1\"], sped: 1G"},
		{"\"s1:p1\"]", "\"s1:p1\"], over: gre"}, {"s1: {preset", "-s1: {preset"},
	} {
		bothRefuse(t, valid, strings.Replace(whole, change[0], change[1], 1))
	}
}

func bothRefuse(t *testing.T, valid func([]byte) error, text string) {
	t.Helper()
	if _, err := ParseTopology("a", []byte(text), nil); err == nil || valid([]byte(text)) == nil {
		t.Errorf("Parse says %v, and the schema %v, of\n%s", err, valid([]byte(text)), text)
	}
}

// Single values: the schema takes and refuses what Parse takes and refuses.
func TestSchemaValues(t *testing.T) {
	valid := validator(t, NewSchema())
	for _, key := range []struct{ format, values string }{
		{"buffer: {private: %s}", "4KiB 0 4096 1.5KiB 0B 4k -1 1e3 fast [1] {a: 1} true"},
		{"ports: {p1: {speed: %s}}", "auto none 1G 2.5G 100M 1000000 999 1g fast -1 [1G] off"},
		{"ageing: %s", "300s 10 5m soon"},
		{"ports: {p1: {cable: %s}}", "0 100m 10km 100 100ft -1m"},
		{"ports: {p1: {flow_control: %s}}", "pfc pause off on both [pfc]"},
		{"ports: {p1: {learning: %s}}", "true false on off yes no 1 maybe"},
		{"ecn: {3: %s}", "off {} {kmin: 1KiB} {pmax: 10%} {pmax: 0.1} {pmax: 0} {kmin: x} on"},
		{"queues: {%s: {weight: 1}}", "0 7 8 a -1"},
		{"lldp: {bit_ieee: %s}", "0x20 16 off 0x30 3 on"},
		{"headroom: {stamps: 2, mode: %s}", "loopback acknowledge echo 4"},
		{"headroom: {opcode: %s}", "0xFFFE 0x0101 1 65536"},
		{"headroom: {max: %s}", "4x 1.5x 8KiB 0 y"},
		{"headroom: {send_request: %s}", "off"},
		{"priorities: {lossless: %s}", "[3] [] [3,4] [8] 3"},
		{"priorities: {dscp: {%s: 3}}", "0 26 63 64 x"},
		{"fdb: [%s]", `{mac:"02:00:00:00:00:01",port:p1} {port:p1} {mac:"zz",port:p1} {mac:"02:00:00:00:00:01",ports:[p1]} ` +
			`{mac:"02:00:00:00:00:01"} {mac:"02:00:00:00:00:01",port:p1,ports:[p1]} {mac:"02:00:00:00:00:01",ports:p1}`},
		{"watchdog: %s", "off {fast: off} {action: drop} {action: nothing} {mode: sonic} {period: 100ms} {period: " +
			"50ms} {slow: {threshold: 3}} 3"},
		{"api: {socket: %s}", "auto /run/x.sock x.sock"},
		{"metrics: {listen: %s}", `off "127.0.0.1:9808" 9808`},
		{"naam: %s", "x"},
	} {
		taken, refused := 0, 0
		for _, v := range values(key.values) {
			text := fmt.Sprintf(key.format, v) + "\n"
			if !strings.HasPrefix(text, "ports") {
				text += "ports: {p1: }\n"
			}
			_, _, fault := Parse("test.yaml", []byte(text))
			err := valid([]byte(text))
			assert.True(t, (err == nil) == (fault == nil), "%s: Parse says %v, the schema %v", text, fault, err)
			if fault == nil {
				taken++
			} else {
				refused++
			}
		}
		if taken == 0 && key.format != "naam: %s" || refused == 0 && !strings.Contains(key.format, "send_request") {
			t.Errorf("%s: %d values taken, %d refused", key.format, taken, refused)
		}
	}
}

// values splits at spaces that stand in no bracket.
func values(text string) (all []string) {
	depth, from := 0, 0
	for i, r := range text + " " {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ' ':
			if depth == 0 {
				all = append(all, text[from:i])
				from = i + 1
			}
		}
	}
	return all
}
