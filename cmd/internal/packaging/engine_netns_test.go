package packaging

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// What the files describe is carried out as their engines do: containers start with a management interface and are told
// how many links they get; then they get them, or before with KNE. Every switch and host NIC has to become healthy, and
// hosts have the addresses of the lab's file.
func TestLabFilesRun(t *testing.T) {
	for name, top := range files(t) {
		t.Run(name, func(t *testing.T) { top.run(t) })
	}
}

func (top *topology) run(t *testing.T) {
	l := labtest.New(t, "engine")
	dir := labtest.TempDir(t)
	host := labtest.Node(t, l, "host")
	nodes, daemons := map[string]*lab.Node{"": host}, map[string]*lab.Process{}
	for name := range top.nodes {
		nodes[name] = labtest.Node(t, l, name)
		cable(t, l, nodes[name], "eth0", host, "m-"+name)
		must(t, nodes[name].AddAddr("eth0", "172.20.20.2/24"))
	}
	link := func() {
		for i, k := range top.links {
			ends := append(slices.Clone(k.ends), fmt.Sprintf(":x%d", i))[:2] // the far end of a tunnel is nobody's
			a, aIf, _ := strings.Cut(ends[0], ":")
			b, bIf, _ := strings.Cut(ends[1], ":")
			must(t, l.Link(nodes[a], aIf, nodes[b], bIf, lab.LinkOptions{MTU: k.mtu, MACs: k.macs}))
		}
	}
	if top.linked {
		link()
	}
	for name, n := range top.nodes {
		if strings.Contains(strings.Join(n.argv, " "), "pfcswitch") {
			daemons[name] = n.start(t, nodes[name], top.count(name), filepath.Join(dir, name+".sock"))
		}
	}
	if !top.linked {
		link()
	}
	for name, n := range top.nodes {
		if p := daemons[name]; p != nil {
			waitFor(t, p, filepath.Join(dir, name+".sock"))
		}
		for _, command := range n.exec {
			labtest.Run(t, nodes[name], strings.Fields(command)...)
		}
		if script, host := strings.CutSuffix(n.argv[len(n.argv)-1], "exec sleep infinity"); host { // of KNE
			labtest.Run(t, nodes[name], "/bin/sh", "-c", script+"exec true")
		}
		out := labtest.Run(t, nodes[name], "ip", "address")
		for _, address := range top.addresses[name] {
			assert.Contains(t, out, " "+address+" ", "%s has not the address %s", name, address)
		}
	}
	assert.True(t, len(daemons) != 0, "no switch runs in it")
	for _, p := range daemons {
		stop(t, p)
	}
}

// count returns the number of a node's links.
func (top *topology) count(name string) (n int) {
	for _, l := range top.links {
		for _, end := range l.ends {
			if of, _, _ := strings.Cut(end, ":"); of == name {
				n++
			}
		}
	}
	return n
}

// start runs what a container runs, with its files where they are here, and a socket that no other container has: each
// has a /run of its own, and here they share one.
func (n node) start(t *testing.T, at *lab.Node, links int, socket string) *lab.Process {
	t.Helper()
	env := []string{fmt.Sprintf("CLAB_INTFS=%d", links), "PATH=" + filepath.Dir(program(t)) + ":" + os.Getenv("PATH")}
	argv := slices.Clone(n.argv)
	for inside, here := range n.files {
		text := assert.Got(os.ReadFile(here)).Must(t)
		own := strings.Replace(string(text), "\napi: {socket: auto}", "\napi: {socket: "+socket+"}", 1)
		shadow := write(t, strings.TrimSuffix(socket, ".sock")+".yaml", own)
		for i := range argv {
			argv[i] = strings.Replace(argv[i], inside, shadow, 1)
		}
	}
	switch {
	case len(n.files) > 0:
	case argv[1] == "nic":
		argv = append(argv, "--socket", socket)
	default: // no file: its socket is the default one
		eventually(t, "the default socket can be had", func() bool {
			_, err := os.Lstat("/run/pfcswitch/pfcswitch.sock")
			return os.IsNotExist(err)
		})
		must(t, os.Symlink("/run/pfcswitch/pfcswitch.sock", socket))
	}
	if path.Base(argv[0]) == "pfcswitch" { // the same where it is installed and in the PATH
		argv[0] = program(t)
	}
	return assert.Got(at.Start(lab.Command{Name: "container", Argv: argv, Env: env})).Must(t)
}
