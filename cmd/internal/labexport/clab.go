package labexport

import (
	"bytes"
	"fmt"

	"pfcswitch/cmd/internal/config"
)

// clab writes containerlab's topology file. Names and addresses are quoted as JSON has them, which YAML reads likewise.
func (x *export) clab() {
	t := x.topology
	name := t.Name + ".clab.yml"
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by pfcswitch lab export clab. Deploy: containerlab deploy -t %s\nname: %q\ntopology:\n"+
		"  kinds:\n    linux: {image: %q}\n  nodes:\n", name, t.Name, Image)
	for _, s := range t.Switches {
		x.clabDaemon(&b, s.Name, s.Config)
	}
	for _, h := range t.Hosts {
		if h.NIC != nil {
			x.clabDaemon(&b, h.Name, h.NIC)
			continue
		}
		fmt.Fprintf(&b, "    %q:\n      kind: linux\n      cmd: sleep infinity\n", h.Name)
		if len(h.Addresses) > 0 {
			b.WriteString("      exec:\n")
		}
		first, _ := x.firstInterface(h.Name)
		for _, a := range h.Addresses {
			fmt.Fprintf(&b, "        - \"ip address add %v dev %s\"\n", a, first)
		}
	}
	if len(t.Links)+len(t.Tunnels) > 0 {
		b.WriteString("  links:\n")
	}
	for i := range t.Links {
		l := &t.Links[i]
		fmt.Fprintf(&b, "    - type: veth\n      endpoints:\n        - %s\n        - %s\n      mtu: %d\n",
			x.clabEnd(l.Ends[0]), x.clabEnd(l.Ends[1]), l.MTU)
	}
	for i := range t.Tunnels { // no port: releases of containerlab call it differently, and TunnelPort is their default
		l := &t.Tunnels[i]
		fmt.Fprintf(&b, "    - type: vxlan\n      endpoint: %s\n      remote: %q\n      vni: %d\n      mtu: %d\n",
			x.clabEnd(l.End), l.Remote, l.VNI, l.MTU)
	}
	if len(t.Parts) > 0 {
		x.miss(t.Errorf("parts", "this is the whole lab, on one machine: --part PART makes the file of one"))
	}
	x.files[name] = b.Bytes()
}

// clabDaemon writes a node that runs the program.
func (x *export) clabDaemon(b *bytes.Buffer, node string, c *config.Config) {
	inside := configFolder + "/" + configName
	fmt.Fprintf(b, "    %q:\n      kind: linux\n      binds: [%q]\n      cmd: pfcswitch run -c %s\n", node,
		x.addConfig(node, c)+":"+inside+":ro", inside)
}

// clabEnd is an end of a link, with the address that a host has there.
func (x *export) clabEnd(end config.LabEnd) string {
	mac := ""
	for i, h := range x.topology.Hosts {
		if h.Name == end.Node && end.Interface == "eth0" {
			mac = fmt.Sprintf(", mac: %q", x.topology.Address(i))
		}
	}
	return fmt.Sprintf("{node: %q, interface: %q%s}", end.Node, x.interfaces[end], mac)
}
