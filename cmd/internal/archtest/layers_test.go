package archtest

import (
	"fmt"
	"strings"
	"testing"
)

// A layer says which packages of the project a package may import. A package that belongs to no layer is
// a finding of its own: whoever adds one decides where it stands.
type layer struct {
	packages []string
	may      []string
	why      string
}

// leaves are read, tested and reused without the switch. Buffer, headroom and trunk use macctl's plain types, so that a
// mode, a measurement and a table of response limits have one type each.
var leaves = []string{"macctl/...", "buffer/...", "headroom/...", "lldp/...", "deadlock/...", "dataplane/frame/..."}

// asserts is for tests alone. It imports nothing of ours, so tests of every layer may use it.
const asserts = "dataplane/assert"

// portsForTests are for the tests of whoever may import dataplane/port.
const portsForTests = "dataplane/port/porttest"

// stations decide on frames; the switch joins them.
var stations = []string{"dataplane/frame", "dataplane/classify", "dataplane/bridge", "dataplane/sched",
	"dataplane/trunk", "dataplane/capture"}

var layers = []layer{
	{[]string{"macctl/..."}, []string{"macctl/..."}, "a leaf imports nothing of ours"},
	{[]string{"buffer/..."}, []string{"buffer/...", "macctl"}, "a leaf imports macctl's plain types at most"},
	{[]string{"headroom/..."}, []string{"headroom/...", "macctl"},
		"headroom sees the switch through interfaces that it declares itself"},
	{[]string{"lldp/..."}, []string{"lldp/..."}, "lldp sees the switch through interfaces that it declares itself"},
	{[]string{"deadlock/..."}, []string{"deadlock/..."}, "deadlock sees the switch through interfaces that it " +
		"declares itself"},
	{[]string{"dataplane/frame/..."}, []string{"dataplane/frame/..."}, "a leaf imports nothing of ours"},
	{[]string{"dataplane/port/..."}, []string{"dataplane/frame", "dataplane/port/..."},
		"a station knows frames, not other stations"},
	{[]string{"dataplane/classify"}, []string{"dataplane/frame"}, "a station knows frames, not other stations"},
	{[]string{"dataplane/bridge"}, []string{"dataplane/frame"}, "a station knows frames, not other stations"},
	{[]string{"dataplane/sched"}, []string{"dataplane/frame"}, "a station knows frames, not other stations"},
	{[]string{"dataplane/trunk"}, []string{"dataplane/frame", "macctl"}, "a station knows frames, not other stations"},
	{[]string{"dataplane/capture"}, []string{"dataplane/frame"}, "a station knows frames, not other stations"},
	{[]string{"dataplane/ack", "dataplane/dcqcn"}, nil, "senders in virtual time and on real links share it"},
	{[]string{asserts}, nil, "tests of every layer use it"},
	{[]string{"dataplane/mapping"}, nil, "memory knows nothing of what lies in it"},
	{[]string{"dataplane/runner"}, []string{"dataplane", "dataplane/...", "buffer", "macctl"},
		"the runner drives the switch; the rest watches from the side"},
	{[]string{"dataplane/sim"}, append([]string{"dataplane", "dataplane/ack", "dataplane/dcqcn", "dataplane/port",
		"buffer", "macctl"}, stations...), "sim drives switches as the runner does, and neither knows the other"},
	{
		[]string{"dataplane"},
		append([]string{"dataplane/mapping", "dataplane/port", "buffer", "macctl"}, stations...),
		"the switch joins its stations, the buffer and MAC control; who drives it stands above",
	},
	{[]string{"metrics/..."}, append([]string{"dataplane", "dataplane/bridge", "dataplane/trunk", "metrics/..."},
		leaves...), "metrics reads the switch and the leaves"},
	{
		[]string{"cmd/internal/..."},
		append([]string{"dataplane/...", "metrics/...", "cmd/internal/..."}, leaves...),
		"cmd/internal uses all that stands below it, never the command",
	},
	{[]string{"cmd/pfcswitch/..."}, []string{"cmd/internal/...", "cmd/pfcswitch/..."},
		"cmd/pfcswitch only parses; cmd/internal does the work"},
	{[]string{"cmd/bench"}, []string{"cmd/internal/bench"}, "a command only starts its package"},
	{[]string{"cmd/judge"}, []string{"cmd/internal/judge"}, "a command only starts its package"},
	{[]string{"cmd/lint"}, nil, "a module of its own"},
}

// checkLayers finds imports against the layers, in tests too (a test may import its own package).
func checkLayers(t *tree) (found []string) {
	for pkg, files := range t.packages() {
		l, ok := layerOf(pkg)
		if !ok {
			found = append(found, fmt.Sprintf("%s: belongs to no layer: give it one in layers_test.go, or move it "+
				"into a package that has one", pkg))
			continue
		}
		for _, f := range files {
			for _, imported := range f.imports() {
				own, ok := strings.CutPrefix(imported, module+"/")
				if strings.HasSuffix(f.path, "_test.go") &&
					(own == asserts || own == portsForTests && matches("dataplane/port", l.may)) {
					continue
				}
				if ok && own != pkg && !matches(own, l.may) {
					found = append(found, fmt.Sprintf("%s: imports %s: %s (it may import: %s)", f.path, own, l.why,
						strings.Join(l.may, ", ")))
				}
			}
		}
	}
	return found
}

func layerOf(pkg string) (layer, bool) {
	for _, l := range layers {
		if matches(pkg, l.packages) {
			return l, true
		}
	}
	return layer{}, false
}

func TestImportsRunOneWay(t *testing.T) {
	imports := func(paths ...string) (src string) {
		for _, p := range paths {
			src += fmt.Sprintf("import _ %q\n", p)
		}
		return src
	}
	obeys(t, "imports run one way", checkLayers, []check{
		{"as it should be", map[string]string{
			"macctl/a.go":             imports("time", "example.org/other"),
			"macctl/a_test.go":        imports("pfcswitch/macctl"),
			"lldp/dcbx/a.go":          imports("pfcswitch/lldp"),
			"dataplane/port/tap/a.go": imports("pfcswitch/dataplane/port", "pfcswitch/dataplane/frame"),
			"dataplane/a.go":          imports("pfcswitch/buffer", "pfcswitch/macctl", "pfcswitch/dataplane/sched"),
			"dataplane/runner/a.go":   imports("pfcswitch/dataplane", "pfcswitch/dataplane/port"),
			"metrics/a.go":            imports("pfcswitch/dataplane", "pfcswitch/headroom", "pfcswitch/lldp/dcbx"),
			"cmd/internal/daemon/a.go": imports("pfcswitch/metrics", "pfcswitch/dataplane/port",
				"pfcswitch/cmd/internal/config"),
			"cmd/pfcswitch/a.go": imports("pfcswitch/cmd/internal/daemon"),
		}, nil},
		{"a leaf imports macctl", map[string]string{"buffer/a.go": imports("pfcswitch/macctl"),
			"headroom/a.go": imports("pfcswitch/macctl")}, nil},
		{"tests of a leaf use asserts, the leaf does not", map[string]string{
			"lldp/a_test.go": imports("pfcswitch/dataplane/assert"),
			"lldp/a.go":      imports("pfcswitch/dataplane/assert"),
		}, []string{"lldp/a.go: imports dataplane/assert: lldp sees"}},
		{"tests above the ports use ports for tests", map[string]string{
			"dataplane/a_test.go": imports("pfcswitch/dataplane/port/porttest"),
			"dataplane/a.go":      imports("pfcswitch/dataplane/port/porttest"),
			"lldp/a_test.go":      imports("pfcswitch/dataplane/port/porttest"),
		}, []string{"dataplane/a.go: imports dataplane/port/porttest", "lldp/a_test.go: imports dataplane/port"}},
		{"a leaf imports a leaf", map[string]string{"buffer/a.go": imports("pfcswitch/headroom")},
			[]string{"buffer/a.go: imports headroom: a leaf"}},
		{"in a test too", map[string]string{"buffer/a_test.go": imports("pfcswitch/headroom")},
			[]string{"buffer/a_test.go: imports headroom"}},
		{"the side imports the switch", map[string]string{
			"deadlock/a.go": imports("pfcswitch/dataplane"),
			"headroom/a.go": imports("pfcswitch/dataplane/frame"),
			"lldp/a.go":     imports("pfcswitch/dataplane/port"),
		}, []string{"deadlock/a.go: imports dataplane", "headroom/a.go: imports dataplane/frame",
			"lldp/a.go: imports dataplane/port"}},
		{"a station imports another", map[string]string{"dataplane/bridge/a.go": imports("pfcswitch/dataplane/sched")},
			[]string{"imports dataplane/sched: a station"}},
		{"a station imports the switch", map[string]string{"dataplane/port/a.go": imports("pfcswitch/dataplane")},
			[]string{"imports dataplane: a station"}},
		{"the switch imports the side", map[string]string{"dataplane/a.go": imports("pfcswitch/lldp")},
			[]string{"imports lldp: the switch"}},
		{"the switch imports who drives it", map[string]string{"dataplane/a_test.go": imports(
			"pfcswitch/dataplane/runner")}, []string{"imports dataplane/runner: the switch"}},
		{"sim imports the runner", map[string]string{"dataplane/sim/a.go": imports("pfcswitch/dataplane/runner",
			"pfcswitch/dataplane")}, []string{"imports dataplane/runner: sim drives"}},
		{"metrics imports a station", map[string]string{"metrics/a.go": imports("pfcswitch/dataplane/port")},
			[]string{"imports dataplane/port: metrics"}},
		{"cmd/internal imports the command", map[string]string{"cmd/internal/web/a.go": imports(
			"pfcswitch/cmd/pfcswitch")}, []string{"imports cmd/pfcswitch"}},
		{"the command does the work itself", map[string]string{"cmd/pfcswitch/a.go": imports("pfcswitch/dataplane")},
			[]string{"only parses"}},
		{"a package of no layer", map[string]string{"dataplane/util/a.go": ""},
			[]string{"dataplane/util: belongs to no layer"}},
		{"Go code among scripts", map[string]string{"scripts/bench/a.go": ""},
			[]string{"scripts/bench: belongs to no layer"}},
	})
}
