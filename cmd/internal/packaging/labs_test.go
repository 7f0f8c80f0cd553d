package packaging

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A topology is what the files of containerlab, KNE and netlab have in common.
type topology struct {
	nodes map[string]node
	links []link
}

// A node is a container.
type node struct {
	argv  []string
	env   []string
	files map[string]string // in the container → here
	exec  []string
}

// A link has one or two ends, as "node:interface"; one with one end goes to another machine.
type link struct {
	ends []string
	mtu  int
}

// Keys of containerlab's topology files that ours have, as its published schema (schemas/clab.schema.json) and its
// links' documentation name them. Every other key is an error.
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
		Env   map[string]string
		Cmd   string
		Exec  []string
	}
	clabLink struct {
		Endpoints []string
		Type      string
		Endpoint  struct{ Node, Interface string }
		Remote    string
		VNI       int
		UDPPort   int `yaml:"udp-port"`
		MTU       int
	}
)

// clabMTU is that of containerlab's links which say nothing else.
const clabMTU = 9500

func readClab(t *testing.T, file string) topology {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	var c clabFile
	must(t, yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(&c))
	if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(c.Name) {
		t.Errorf("%s: the name %q cannot be part of a container's", file, c.Name)
	}
	all := topology{nodes: map[string]node{}}
	for name, n := range c.Topology.Nodes {
		if n.Kind != "linux" || c.Topology.Kinds["linux"].Image == "" {
			t.Errorf("%s: node %s is of kind %q, with image %q", file, name, n.Kind, c.Topology.Kinds["linux"].Image)
		}
		out := node{argv: command(t, n.Cmd), files: map[string]string{}, exec: n.Exec}
		for k, v := range n.Env {
			out.env = append(out.env, k+"="+v)
		}
		for _, bind := range n.Binds {
			parts := strings.Split(bind, ":")
			if len(parts) != 3 || parts[2] != "ro" || !path.IsAbs(parts[1]) {
				t.Fatalf("%s: bind %q", file, bind)
			}
			out.files[parts[1]] = filepath.Join(filepath.Dir(file), parts[0])
		}
		all.nodes[name] = out
	}
	for _, l := range c.Topology.Links {
		out := link{ends: l.Endpoints, mtu: max(l.MTU, 0)}
		if out.mtu == 0 {
			out.mtu = clabMTU
		}
		switch {
		case l.Type == "vxlan" && l.Endpoint.Node != "" && l.Remote != "" && l.VNI > 0 && l.MTU > 0 &&
			len(l.Endpoints) == 0:
			out.ends = []string{l.Endpoint.Node + ":" + l.Endpoint.Interface}
		case l.Type != "" || len(l.Endpoints) != 2:
			t.Errorf("%s: link %+v", file, l)
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

// kne is the part of KNE's topology (proto/topo.proto) that our files use: fields by their names, types and numbers.
func kne(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	schema, err := os.ReadFile("testdata/kne.txtpb")
	must(t, err)
	var d descriptorpb.FileDescriptorProto
	must(t, prototext.Unmarshal(schema, &d))
	file, err := protodesc.NewFile(&d, nil)
	must(t, err)
	return file.Messages().ByName("Topology")
}

func readKNE(t *testing.T, file string) topology {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	m := dynamicpb.NewMessage(kne(t))
	must(t, prototext.Unmarshal(b, m))
	get := func(m protoreflect.Message, field string) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(field)))
	}
	text := func(m protoreflect.Message, field string) string { return get(m, field).String() }
	list := func(m protoreflect.Message, field string) protoreflect.List { return get(m, field).List() }
	all := topology{nodes: map[string]node{}}
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
		if get(n, "vendor").Enum() != 1 {
			t.Errorf("%s: %s is not a host to KNE", file, text(n, "name"))
		}
		all.nodes[text(n, "name")] = out
	}
	links := list(m, "links")
	for i := range links.Len() {
		l := links.Get(i).Message()
		all.links = append(all.links, link{[]string{text(l, "a_node") + ":" + text(l, "a_int"),
			text(l, "z_node") + ":" + text(l, "z_int")}, 1500})
	}
	return all
}

func readNetlab(t *testing.T, file string) topology {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
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
	if c.Provider != "clab" || c.Device != "linux" {
		t.Errorf("%s: provider %q, device %q", file, c.Provider, c.Device)
	}
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
		if l["prefix"] != false || len(out.ends) != 2 {
			t.Errorf("%s: link %v", file, l)
		}
		all.links = append(all.links, out)
	}
	return all
}

// files returns every lab file with how it is read.
func files(t *testing.T) map[string]topology {
	t.Helper()
	all := map[string]topology{}
	for pattern, read := range map[string]func(*testing.T, string) topology{
		"clab/*.clab.yml": readClab, "clab/*/*.clab.yml": readClab, "kne/*.pb.txt": readKNE,
		"netlab/topology.yml": readNetlab,
	} {
		found, err := filepath.Glob(filepath.Join(root, "scripts", pattern))
		must(t, err)
		if len(found) == 0 {
			t.Errorf("there is no scripts/%s", pattern)
		}
		for _, f := range found {
			all[strings.TrimPrefix(f, root+"/scripts/")] = read(t, f)
		}
	}
	return all
}

// Files follow their schemas, links lead to nodes that there are, and every switch's own file is a good one.
func TestLabFiles(t *testing.T) {
	for name, top := range files(t) {
		taken := map[string]bool{}
		for _, l := range top.links {
			for _, end := range l.ends {
				of, _, _ := strings.Cut(end, ":")
				if _, ok := top.nodes[of]; !ok || taken[end] {
					t.Errorf("%s: %s is no node's, or taken twice", name, end)
				}
				taken[end] = true
			}
		}
		for of, n := range top.nodes {
			for inside, here := range n.files {
				if out, err := exec.Command(program(t), "check", here).CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v\n%s", name, of, err, out)
				}
				if !strings.Contains(strings.Join(n.argv, " "), inside) {
					t.Errorf("%s: %s has %s and runs %q", name, of, inside, n.argv)
				}
			}
		}
	}
}
