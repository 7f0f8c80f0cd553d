package packaging

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/labexport"
	"pfcswitch/dataplane/assert"
)

// A topology is what the files of containerlab, KNE and netlab have in common.
type topology struct {
	nodes  map[string]node
	links  []link
	linked bool // containers start when they have their links

	addresses map[string][]string // of each host: its MAC address, and those of its file
}

// A node is a container.
type node struct {
	argv  []string
	files map[string]string // in the container → here
	exec  []string
}

// A link has one or two ends, as "node:interface"; one with one end goes to another machine.
type link struct {
	ends []string
	macs [2]net.HardwareAddr
	mtu  int
}

// Keys of containerlab's topology files that ours have; testdata/clab.schema.json says what they may be.
type (
	clabFile struct {
		Name     string
		Topology struct {
			Kinds map[string]clabNode
			Nodes map[string]clabNode
			Links []clabLink
		}
	}
	clabNode struct {
		Kind  string
		Image string
		Binds []string
		Cmd   string
		Exec  []string
	}
	clabLink struct {
		Type      string
		Endpoints []clabEnd
		Endpoint  *clabEnd
		Remote    string
		VNI       int
		MTU       int
	}
	clabEnd struct{ Node, Interface, MAC string }
)

// clabSchema is the part of containerlab's schema that our files use.
func clabSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b := assert.Got(os.ReadFile("testdata/clab.schema.json")).Must(t)
	parsed := assert.Got(jsonschema.UnmarshalJSON(bytes.NewReader(b))).Must(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must(t, c.AddResource("clab.json", parsed))
	return assert.Got(c.Compile("clab.json")).Must(t)
}

func readClab(t *testing.T, file string) topology {
	t.Helper()
	b := assert.Got(os.ReadFile(file)).Must(t)
	text := assert.Got(yaml.YAMLToJSON(b)).Must(t)
	v := assert.Got(jsonschema.UnmarshalJSON(bytes.NewReader(text))).Must(t)
	assert.NoError(t, clabSchema(t).Validate(v), "%s", file)
	var c clabFile
	must(t, yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&c))
	assert.True(t, regexp.MustCompile(`^[a-z0-9._-]+$`).MatchString(c.Name),
		"%s: the name %q cannot be part of a container's", file, c.Name)
	all := topology{nodes: map[string]node{}}
	for name, n := range c.Topology.Nodes {
		assert.True(t, n.Kind == "linux" && c.Topology.Kinds["linux"].Image != "",
			"%s: node %s is of kind %q, with image %q", file, name, n.Kind, c.Topology.Kinds["linux"].Image)
		out := node{argv: command(t, n.Cmd), files: map[string]string{}, exec: n.Exec}
		for _, bind := range n.Binds {
			parts := strings.Split(bind, ":")
			assert.MustBeTrue(t, len(parts) == 3 && parts[2] == "ro" && path.IsAbs(parts[1]), "%s: bind %q", file, bind)
			out.files[parts[1]] = filepath.Join(filepath.Dir(file), parts[0])
		}
		all.nodes[name] = out
	}
	for _, l := range c.Topology.Links {
		out := link{mtu: l.MTU}
		ends := l.Endpoints
		if l.Endpoint != nil {
			ends = append(ends, *l.Endpoint)
		}
		for i, end := range ends {
			out.ends = append(out.ends, end.Node+":"+end.Interface)
			if end.MAC != "" {
				out.macs[i] = assert.Got(net.ParseMAC(end.MAC)).Must(t)
			}
		}
		all.links = append(all.links, out)
	}
	return all
}

// command is the command of a node, or of the image where the node has none.
func command(t *testing.T, cmd string) []string {
	t.Helper()
	if cmd != "" {
		return strings.Fields(cmd)
	}
	for _, i := range dockerfile() {
		if i.stage == "lab" && i.op == "CMD" {
			return words(t, i.args)
		}
	}
	t.Fatal("the image for labs runs nothing")
	return nil
}

// kne is the part of KNE's topology (openconfig/kne, proto/topo.proto at 02c13da3) that our files use: fields by their
// names, types and numbers.
func kne(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	schema := assert.Got(os.ReadFile("testdata/kne.txtpb")).Must(t)
	var d descriptorpb.FileDescriptorProto
	must(t, prototext.Unmarshal(schema, &d))
	file := assert.Got(protodesc.NewFile(&d, nil)).Must(t)
	return file.Messages().ByName("Topology")
}

func readKNE(t *testing.T, file string) topology {
	t.Helper()
	b := assert.Got(os.ReadFile(file)).Must(t)
	m := dynamicpb.NewMessage(kne(t))
	must(t, prototext.Unmarshal(b, m))
	for _, line := range []string{"kind load docker-image " + labexport.Image + " ",
		"kne create " + filepath.Base(file)} {
		assert.Contains(t, string(b), "#   "+line, "%s does not say what to do", file)
	}
	get := func(m protoreflect.Message, field string) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(field)))
	}
	text := func(m protoreflect.Message, field string) string { return get(m, field).String() }
	list := func(m protoreflect.Message, field string) protoreflect.List { return get(m, field).List() }
	all := topology{nodes: map[string]node{}, linked: true}
	nodes := list(m, "nodes")
	for i := range nodes.Len() {
		n := nodes.Get(i).Message()
		c := get(n, "config").Message()
		out := node{files: map[string]string{}}
		for _, field := range []string{"command", "args"} {
			for j, l := 0, list(c, field); j < l.Len(); j++ {
				out.argv = append(out.argv, l.Get(j).String())
			}
		}
		if f := text(c, "file"); f != "" {
			out.files[path.Join(text(c, "config_path"), text(c, "config_file"))] = filepath.Join(filepath.Dir(file), f)
		}
		assert.True(t, get(n, "vendor").Enum() == 1, "%s: %s is not a host to KNE", file, text(n, "name"))
		all.nodes[text(n, "name")] = out
	}
	links := list(m, "links")
	for i := range links.Len() {
		l := links.Get(i).Message()
		all.links = append(all.links, link{ends: []string{text(l, "a_node") + ":" + text(l, "a_int"),
			text(l, "z_node") + ":" + text(l, "z_int")}, mtu: 1500})
	}
	return all
}

func readNetlab(t *testing.T, file string) topology {
	t.Helper()
	b := assert.Got(os.ReadFile(file)).Must(t)
	var c struct {
		Provider string
		Device   string `yaml:"defaults.device"`
		Nodes    map[string]struct {
			Image string
			Clab  clabNode
		}
		Links []map[string]any
	}
	must(t, yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&c))
	assert.True(t, c.Provider == "clab" && c.Device == "linux",
		"%s: provider %q, device %q", file, c.Provider, c.Device)
	all := topology{nodes: map[string]node{}}
	for name, n := range c.Nodes {
		all.nodes[name] = node{argv: command(t, n.Clab.Cmd)}
	}
	next := map[string]int{} // netlab numbers interfaces in the order of the links
	for _, l := range c.Links {
		var out link
		for _, name := range []string{"s1", "h1", "h2", "h3"} {
			if _, ok := l[name]; ok {
				next[name]++
				out.ends, out.mtu = append(out.ends, fmt.Sprintf("%s:eth%d", name, next[name])), 1500
			}
		}
		assert.True(t, l["prefix"] == false && len(out.ends) == 2, "%s: link %v", file, l)
		all.links = append(all.links, out)
	}
	return all
}

// files returns the labs of this project as each engine has them.
func files(t *testing.T) map[string]topology {
	t.Helper()
	all := map[string]topology{"netlab": readNetlab(t, filepath.Join(root, "scripts/netlab/topology.yml"))}
	labs := assert.Got(filepath.Glob(filepath.Join(root, "scripts/lab/*.yaml"))).Must(t)
	for _, file := range labs {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		whole := assert.Got(config.LoadTopology(file)).Must(t)
		add := func(name string, top topology, of *config.Topology) {
			top.addresses = map[string][]string{}
			for i, h := range of.Hosts {
				top.addresses[h.Name] = []string{of.Address(i).String()}
				for _, a := range h.Addresses {
					top.addresses[h.Name] = append(top.addresses[h.Name], a.String())
				}
			}
			all[name] = top
		}
		add("clab/"+name, readClab(t, export(t, file, "clab")), whole)
		add("kne/"+name, readKNE(t, export(t, file, "kne")), whole)
		for _, p := range whole.Parts {
			part := assert.Got(whole.Part(p.Name)).Must(t)
			add("clab/"+part.Name, readClab(t, export(t, file, "clab", "--part", p.Name)), part)
		}
	}
	assert.True(t, len(all) >= 15, "%d labs", len(all))
	return all
}

// export makes the files of an engine, and returns the path of its topology. What is said to be not in the files has to
// be a line of traffic or parts.
func export(t *testing.T, file, engine string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"lab", "export", engine, "-o", labtest.TempDir(t),
		file}, args...)...)
	var missing strings.Builder
	cmd.Stderr = &missing
	out, err := cmd.Output()
	assert.MustBeTrue(t, err == nil, "lab export %s %s: %v\n%s", engine, file, err, missing.String())
	said := regexp.MustCompile(`^not in the files: .*yaml:\d+: (traffic\.|parts|links\..*\.mtu)`)
	for line := range strings.Lines(missing.String()) {
		assert.True(t, said.MatchString(line), "lab export %s %s: %s", engine, file, line)
	}
	for path := range strings.Lines(string(out)) {
		if path = strings.TrimSpace(path); strings.HasSuffix(path, ".clab.yml") || strings.HasSuffix(path, ".pb.txt") {
			return path
		}
	}
	t.Fatalf("lab export %s %s has written %s", engine, file, out)
	return ""
}

// Files follow the schemas of their engines, links lead to nodes that there are, and the configuration of every switch
// is a good one. A fabric is what its file says.
func TestLabFiles(t *testing.T) {
	all := files(t)
	fabric := write(t, filepath.Join(labtest.TempDir(t), "fabric.yaml"), "name: fabric\nfabric: {fat-tree: {k: 4}, "+
		"switches: {preset: roce}, links: {speed: 10M}}\nparts: {a: {address: 192.0.2.1, nodes: ['*[ea]*']}, "+
		"b: {address: 192.0.2.2, nodes: ['c*']}}\n")
	all["clab/fabric"] = readClab(t, export(t, fabric, "clab"))
	all["kne/fabric"] = readKNE(t, export(t, fabric, "kne"))
	all["clab/cores"] = readClab(t, export(t, fabric, "clab", "--part", "b"))
	for name, want := range map[string][2]int{"clab/fabric": {36, 48}, "kne/fabric": {36, 48}, "clab/cores": {4, 16}} {
		if got := all[name]; len(got.nodes) != want[0] || len(got.links) != want[1] {
			t.Errorf("%s: %d nodes and %d links, want %v", name, len(got.nodes), len(got.links), want)
		}
	}
	good := map[string]bool{} // texts; engines share most of them
	for name, top := range all {
		taken := map[string]bool{}
		for _, l := range top.links {
			for _, end := range l.ends {
				of, _, _ := strings.Cut(end, ":")
				if _, ok := top.nodes[of]; !ok || taken[end] || strings.HasSuffix(end, ":eth0") {
					t.Errorf("%s: %s is no node's, or taken twice", name, end)
				}
				taken[end] = true
			}
		}
		for of, n := range top.nodes {
			for inside, here := range n.files {
				text := assert.Got(os.ReadFile(here)).Must(t)
				if !good[string(text)] {
					out, err := exec.Command(program(t), "check", here).CombinedOutput()
					good[string(text)] = err == nil
					assert.True(t, err == nil, "%s: %s: %v\n%s", name, of, err, out)
				}
				assert.True(t, strings.Contains(strings.Join(n.argv, " "), inside),
					"%s: %s has %s and runs %q", name, of, inside, n.argv)
			}
		}
	}
}

// What an engine cannot have is refused, or listed with its line.
func TestExportLists(t *testing.T) {
	const good = "name: a\nswitches: {s1: {}}\nhosts: {h1: {}}\nlinks: {l: {ends: [h1, \"s1:p\"], mtu: 1400}}\n" +
		"faults: {f: {flap: l}}\nparts: {p: {address: 192.0.2.1, nodes: [s1]}}\n"
	for _, tt := range []struct {
		text, args, want string
		status           int
	}{
		{good, "kne", ":4: links.l.mtu: KNE's links have no MTU of their own", 0},
		{good, "kne", ":5: faults.f: KNE has no faults", 0},
		{good, "kne", ":6: parts: Kubernetes places the pods", 0},
		{good, "clab", ":5: faults.f: containerlab has no faults", 0},
		{strings.ReplaceAll(good, "s1", "S1"), "kne", `:2: switches.S1: "S1" cannot name a pod`, 1},
		{strings.Replace(good, "name: a", "name: a_b", 1), "kne", `:1: name: "a_b" cannot name a namespace`, 1},
		{good, "clab --part q", ":6: parts: there is no q: take one of p", 1},
		{strings.ReplaceAll(good, "s1", "lab"), "clab",
			"lab.yaml: exists: remove it, or name another folder with -o", 1},
		{good, "gns3", `there is no engine "gns3": write clab or kne`, 1},
	} {
		dir := labtest.TempDir(t)
		file := write(t, filepath.Join(dir, "lab.yaml"), tt.text)
		args := strings.Fields("lab export " + tt.args + " " + file + " -o " + dir)
		cmd := exec.Command(program(t), args...)
		out, _ := cmd.CombinedOutput()
		assert.True(t, strings.Contains(string(out), tt.want) && cmd.ProcessState.ExitCode() == tt.status,
			"%v: status %d\n%s\nwant %d and %q", args, cmd.ProcessState.ExitCode(), out, tt.status, tt.want)
		left, err := os.ReadFile(file)
		assert.True(t, err == nil && string(left) == tt.text, "%v: the file of the lab is %q, %v", args, left, err)
	}
}
