package labexport

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"pfcswitch/cmd/internal/config"
)

// podName is what Kubernetes takes as the name of a pod.
var podName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// kneMTU is what a link of a lab carries where its file says nothing.
const kneMTU = 1500

// kne writes KNE's topology file, a prototext. Its containers start when they have their interfaces, so a shell sets
// the addresses there.
func (x *export) kne() error {
	t := x.topology
	if !podName.MatchString(t.Name) {
		return t.Errorf("name", "%q cannot name a namespace of Kubernetes: use a-z and 0-9", t.Name)
	}
	if len(t.Tunnels) > 0 {
		return t.Errorf("parts", "KNE has no parts, as Kubernetes places the pods: leave out --part")
	}
	name := t.Name + ".pb.txt"
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by pfcswitch lab export kne. The cluster needs the image first, such as\n"+
		"#   kind load docker-image %s --name kne\n#   kne create %s\nname: %q\n", Image, name, t.Name)
	for _, s := range t.Switches {
		if err := x.kneNode(&b, "switches."+s.Name, s.Name, s.Config, nil); err != nil {
			return err
		}
	}
	for i, h := range t.Hosts {
		var commands []string
		if first, linked := x.firstInterface(h.Name); linked {
			commands = append(commands, fmt.Sprintf("ip link set dev %s address %v", first, t.Address(i)))
			for _, a := range h.Addresses {
				if h.NIC == nil {
					commands = append(commands, fmt.Sprintf("ip address add %v dev %s", a, first))
				}
			}
		}
		if err := x.kneNode(&b, "hosts."+h.Name, h.Name, h.NIC, commands); err != nil {
			return err
		}
	}
	for i := range t.Links {
		l := &t.Links[i]
		fmt.Fprintf(&b, "links: { a_node: %q a_int: %q z_node: %q z_int: %q }\n", l.Ends[0].Node,
			x.interfaces[l.Ends[0]], l.Ends[1].Node, x.interfaces[l.Ends[1]])
		if l.MTU != kneMTU {
			x.miss(t.Errorf("links."+l.Name+".mtu", "KNE's links have no MTU of their own, so %d is that of the ports "+
				"alone: see what pfcswitch linkcheck says", l.MTU))
		}
	}
	if len(t.Parts) > 0 {
		x.miss(t.Errorf("parts", "Kubernetes places the pods: addresses of machines are not needed"))
	}
	x.files[name] = b.Bytes()
	return nil
}

// kneNode writes a node that runs commands and then the program, or, without a configuration, nothing.
func (x *export) kneNode(b *bytes.Buffer, key, node string, c *config.Config, commands []string) error {
	if !podName.MatchString(node) {
		return x.topology.Errorf(key, "%q cannot name a pod of Kubernetes: use a-z, 0-9 and \"-\"", node)
	}
	fmt.Fprintf(b, "nodes: {\n  name: %q\n  vendor: HOST\n  config: {\n    image: %q\n", node, Image)
	last := "exec sleep infinity"
	if c != nil {
		last = "exec pfcswitch run -c " + configFolder + "/" + configName
	}
	fmt.Fprintf(b, "    command: \"/bin/sh\"\n    args: \"-c\"\n    args: %q\n",
		strings.Join(append(commands, last), " && "))
	if c != nil {
		fmt.Fprintf(b, "    config_path: %q\n    config_file: %q\n    file: %q\n", configFolder, configName,
			x.addConfig(node, c))
	}
	b.WriteString("  }\n}\n")
	return nil
}
