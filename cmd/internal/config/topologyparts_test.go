package config

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

const parted = `name: two
parts:
  left: {address: 192.0.2.1, nodes: [s1, h3]}
  right: {address: 192.0.2.2, nodes: ["s[23]"]}
switches: {s1: {preset: roce}, s2: {preset: roce}, s3: {preset: roce, api: {socket: /s3.sock}}}
hosts: {h1: {}, h2: {}, h3: {nic: true}}
links:
  l1: {ends: [h1, "s1:p1"]}
  l2: {ends: [h2, "s2:p1"]}
  l3: {ends: [h3, "s2:p2"], mtu: 1400}
  up: {ends: ["s1:up", "s2:up"], mtu: 1446, over: vxlan}
  in: {ends: ["s2:in", "s3:in"]}
traffic: {t: {from: h1, to: h2}}
`

// A part has its nodes, the links between them, and its ends of the others; addresses are those of the whole lab.
func TestParts(t *testing.T) {
	whole := assert.Got(ParseTopology("two.yaml", []byte(parted), noFiles)).Must(t)
	left := assert.Got(whole.Part("left")).Must(t)
	right := assert.Got(whole.Part("right")).Must(t)
	for _, part := range []struct {
		t    *Topology
		want string
	}{
		{left, "two.left: s1 h1 h3; l1; l3:h3:eth0 192.0.2.1>192.0.2.2 1400, up:s1:up 192.0.2.1>192.0.2.2 1446"},
		{right, "two.right: s2 s3 h2; l2 in; l3:s2:p2 192.0.2.2>192.0.2.1 1400, up:s2:up 192.0.2.2>192.0.2.1 1446"},
	} {
		var links, tunnels []string
		for _, l := range part.t.Links {
			links = append(links, l.Name)
		}
		for _, l := range part.t.Tunnels {
			tunnels = append(tunnels, fmt.Sprintf("%s:%s:%s %v>%v %d", l.Link, l.End.Node, l.End.Interface, l.Local,
				l.Remote, l.MTU))
		}
		got := fmt.Sprintf("%s: %s; %s; %s", part.t.Name, strings.Join(part.t.Nodes(), " "), strings.Join(links, " "),
			strings.Join(tunnels, ", "))
		assert.True(t, got == part.want, "got  %s\nwant %s", got, part.want)
	}
	later, err := ParseTopology("two.yaml", []byte(strings.Replace(parted, "h3, \"s2:", "h3, \"s1:", 1)), noFiles)
	assert.Must(t, err)
	other, err := later.Part("left") // of a version without the tunnel l3
	assert.Must(t, err)
	l3, up := left.Tunnels[0].VNI, left.Tunnels[1].VNI
	assert.True(t, up == right.Tunnels[1].VNI && up == other.Tunnels[0].VNI && up != l3 && l3 == right.Tunnels[0].VNI &&
		min(l3, up) >= 1 && max(l3, up) < 1<<24,
		"the identifiers are %d and %d; right has %+v, and left after a change %+v", l3, up, right.Tunnels,
		other.Tunnels)
	for what, pair := range map[string][2]string{
		"a switch's socket":     {left.Switches[0].Config.API.Socket, "/run/pfcswitch-labs/two.left-s1.sock"},
		"a NIC's socket":        {left.Hosts[1].NIC.API.Socket, "/run/pfcswitch-labs/two.left-h3.sock"},
		"a socket of its own":   {right.Switches[1].Config.API.Socket, "/s3.sock"},
		"the whole's socket":    {whole.Switches[0].Config.API.Socket, "/run/pfcswitch-labs/two-s1.sock"},
		"the address of h2":     {right.Address(0).String(), whole.Address(1).String()},
		"over is no port's key": {fmt.Sprint(len(whole.Switches[0].Config.Ports)), "2"},
	} {
		assert.Equal(t, pair[0], pair[1], "%s", what)
	}
	assert.True(t, len(left.Traffic) == 0 && len(whole.Traffic) == 1,
		"traffic: %d of the part, %d of the whole", len(left.Traffic), len(whole.Traffic))
	got, err := whole.Part("")
	assert.True(t, err == nil && got == whole, "the whole lab: %v %v", got, err)
	_, err = whole.Part("up")
	assert.True(t, err != nil && err.Error() == "two.yaml:2: parts: there is no up: take one of left, "+"right",
		"no such part: %v", err)
	alone := assert.Got(ParseTopology("one.yaml", []byte("name: one\nswitches: {s1: {}}\n"), noFiles)).Must(t)
	_, err = alone.Part("left")
	assert.Fails(t, err, "parts: the lab has none", "no parts")
}

// An outer packet has 50 octets more than the MTU over IPv4, 4 more with a VLAN tag, and 20 more over IPv6.
func TestTunnelOverhead(t *testing.T) {
	for remote, want := range map[string]int{"192.0.2.1": 54, "2001:db8::1": 74} {
		assert.Equal(t, (&LabTunnel{Remote: netip.MustParseAddr(remote)}).Overhead(), want, "to %s: octets", remote)
	}
}

func TestPartFaults(t *testing.T) {
	with := func(old, text string) string { return strings.Replace(parted, old, text, 1) }
	for _, test := range []struct{ text, want string }{
		{with("192.0.2.2", "192.0.2.1"), "4: parts.right.address: 192.0.2.1 is that of part left: each part has"},
		{with("192.0.2.2", "2001:db8::1"), "4: parts.right.address: 2001:db8::1 is of another family than 192.0.2.1"},
		{with("address: 192.0.2.2, ", ""), "4: parts.right: has no address: write that of its machine"},
		{with("192.0.2.2", "0.0.0.0"), "4: parts.right.address: \"0.0.0.0\" is not the address of a machine"},
		{with("right:", "Right:"), `4: parts.Right: "Right" cannot name a part: two.Right has to be a lab's name`},
		{with("s[23]", "s[123]"), "4: parts.right.nodes: s1 is in part left already: name it once"},
		{with("s[23]", "s2"), "2: parts: s3 is in none: add it to the nodes of one"},
		{with("switches: {s1", "  none: {address: 192.0.2.3}\nswitches: {s1"), "5: parts.none: has no node: " +
			"name some, or remove the part"},
		{strings.NewReplacer("l3:", "l1083:", "up: {e", "l15914: {e").Replace(parted), "11: links.l15914: its tunnel " +
			"and that of link l1083 have the identifier 13182769: name the link or the lab otherwise"},
		{with("[s1, h3]", "[s1, h9]"), `3: parts.left.nodes: "h9" is no switch and no host`},
		{with("s[23]", "s["), `4: parts.right.nodes[0]: "s[" is no name of nodes`},
		{with("l2: {", "l2: {over: vxlan, "), "9: links.l2.over: both ends are in part right: remove over"},
		{with("vxlan", "gre"), `11: links.up.over: "gre" is unknown: write vxlan`},
		{"name: x\nswitches: {s1: {}, s2: {}}\nlinks: {l: {ends: [\"s1:p\", \"s2:p\"], over: vxlan}}\n",
			"3: links.l.over: the lab has no parts: write parts"},
		{with("name: two\n", "name: two\nhost: x\n"), "2: host: unknown key: did you mean hosts?"},
	} {
		_, err := ParseTopology("lab.yaml", []byte(test.text), noFiles)
		assert.True(t, err != nil && strings.Contains(err.Error(), "lab.yaml:"+test.want),
			"got  %v\nwant %s", err, test.want)
	}
}
