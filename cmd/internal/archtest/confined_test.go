package archtest

import (
	"fmt"
	"go/token"
	"strings"
	"testing"
)

// A confinement keeps something in a few packages: imports (and all below them) and names of packages.
type confinement struct {
	what    string
	imports []string
	names   map[string][]string // by import path
	only    []string
	tests   bool // test files may, anywhere
	links   bool // tests on real links (x_netns_test.go) below dataplane may: they cannot import cmd/internal/lab
}

func (c confinement) allows(f *goFile) bool {
	return matches(f.pkg, c.only) || c.tests && f.test ||
		c.links && strings.HasSuffix(f.path, "_netns_test.go") && matches(f.pkg, []string{"dataplane/..."})
}

var confinements = []confinement{
	{
		what: "packet sockets are opened in dataplane/port alone; LLDP, send and sink get theirs there",
		imports: []string{"github.com/mdlayher/packet", "github.com/google/gopacket/afpacket",
			"github.com/google/gopacket/pcap"},
		names: map[string][]string{"golang.org/x/sys/unix": {"AF_PACKET"}, "syscall": {"AF_PACKET", "LsfSocket"}},
		only:  []string{"dataplane/port/..."},
		links: true,
	},
	{
		what: "netlink and namespaces belong to dataplane/port and cmd/internal/lab",
		imports: []string{"github.com/vishvananda/netlink", "github.com/vishvananda/netns",
			"github.com/mdlayher/netlink", "github.com/mdlayher/genetlink"},
		names: map[string][]string{"golang.org/x/sys/unix": {"AF_NETLINK", "Setns"},
			"syscall": {"AF_NETLINK", "NetlinkRIB"}},
		only:  []string{"dataplane/port/...", "cmd/internal/lab/..."},
		links: true,
	},
	{
		what:    "only cmd knows flags and configuration files",
		imports: []string{"flag", "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/goccy/go-yaml"},
		only:    []string{"cmd/..."},
	},
	{
		what: "only cmd reads files, arguments and the environment (dataplane/port: the kernel's)",
		names: map[string][]string{"os": {
			"Open", "OpenFile", "OpenInRoot", "OpenRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir",
			"DirFS",
			"Args", "Getenv", "LookupEnv", "Environ", "ExpandEnv",
		}},
		only:  []string{"cmd/...", "dataplane/port/..."},
		tests: true,
	},
	{
		what:    "only metrics knows Prometheus, and cmd/internal/web its file for TLS and passwords",
		imports: []string{"github.com/prometheus"},
		only:    []string{"metrics/...", "cmd/internal/web", "cmd/internal/archtest"},
	},
	{
		what:    "parsing with gopacket is for tests: the data path has views of its own",
		imports: []string{"github.com/google/gopacket"},
		only:    []string{"cmd/internal/lab/...", "cmd/internal/acceptance"},
		tests:   true,
	},
}

// checkConfined finds what has left the packages that it is confined to.
func checkConfined(t *tree) (found []string) {
	for _, c := range confinements {
		for _, f := range t.files {
			if c.allows(f) {
				continue
			}
			for _, imported := range f.imports() {
				if confinedImport(imported, c.imports) {
					found = append(found, fmt.Sprintf("%s: imports %s: %s", f.path, imported, c.what))
				}
			}
			f.uses(func(at token.Pos, importPath, name string) {
				for _, n := range c.names[importPath] {
					if n == name {
						found = append(found, fmt.Sprintf("%s: uses %s.%s: %s", t.at(at), importPath, name, c.what))
					}
				}
			})
		}
	}
	return found
}

func confinedImport(imported string, confined []string) bool {
	for _, c := range confined {
		if imported == c || strings.HasPrefix(imported, c+"/") {
			return true
		}
	}
	return false
}

func TestConfined(t *testing.T) {
	obeys(t, "things stay where they belong", checkConfined, []check{
		{"as it should be", map[string]string{
			"dataplane/port/afpacket/a.go": "import (\"golang.org/x/sys/unix\"; _ " +
				"\"github.com/vishvananda/netlink\")\nvar f = unix.AF_PACKET",
			"cmd/internal/lab/a.go": `import _ "github.com/vishvananda/netlink/nl"`,
			"cmd/pfcswitch/a.go":    "import (\"os\"; _ \"github.com/spf13/cobra\")\nvar a = os.Args",
			"metrics/a.go":          `import _ "github.com/prometheus/client_golang/prometheus"`,
			"lldp/a_test.go": "import (\"os\"; _ \"github.com/google/gopacket/layers\")\nvar _, _ = " +
				"os.ReadFile(\"x\")",
			"buffer/a.go": "type fake struct{ Open int }\nvar os fake\nvar x = os.Open",
		}, nil},
		{"a link of a test's own",
			map[string]string{"dataplane/frame/a_netns_test.go": `import _ "github.com/vishvananda/netns"`}, nil},
		{"not any test's", map[string]string{"dataplane/frame/a_test.go": `import _ "github.com/vishvananda/netns"`},
			[]string{"netlink and namespaces"}},
		{"a packet socket in lldp", map[string]string{"lldp/a.go": `import _ "github.com/mdlayher/packet"`},
			[]string{"lldp/a.go: imports github.com/mdlayher/packet: packet sockets"}},
		{"a raw one, renamed", map[string]string{"cmd/internal/traffic/a.go": "import sys " +
			"\"golang.org/x/sys/unix\"\nvar f = sys.AF_PACKET"},
			[]string{"traffic/a.go:3: uses golang.org/x/sys/unix.AF_PACKET"}},
		{"netlink in the daemon",
			map[string]string{"cmd/internal/daemon/a_test.go": `import _ "github.com/vishvananda/netlink/nl"`},
			[]string{"netlink and namespaces"}},
		{"flags below cmd", map[string]string{"dataplane/a.go": `import _ "flag"`}, []string{"imports flag"}},
		{"files below cmd", map[string]string{"metrics/a.go": "import \"os\"\nvar _, _ = os.ReadFile(\"x\")"},
			[]string{"metrics/a.go:3: uses os.ReadFile"}},
		{"Prometheus elsewhere",
			map[string]string{"dataplane/a.go": `import _ "github.com/prometheus/client_golang/prometheus"`},
			[]string{"only metrics"}},
		{"gopacket on the data path",
			map[string]string{"dataplane/classify/a.go": `import _ "github.com/google/gopacket"`},
			[]string{"for tests"}},
	})
}
