package config

import (
	"fmt"
	"strings"
)

// NIC configures a host NIC. Empty fields have their defaults.
type NIC struct {
	Name      string   // default: nic- and the wire
	Wire      string   // interface that leads out of the host
	TAP       string   // interface of the host that comes into being
	Addresses []string // of it
	Speed     string
	MTU       int
	Metrics   string // listen
	Socket    string // of the API
	Nice      string // of the process
	Streams   bool   // the peer may have the NIC fill the link, to check its headroom
}

// HostNIC is the configuration of a host NIC: preset roce, a TAP and its wire.
func HostNIC(n NIC) (*Config, []Warning, error) { return Parse("(command line)", n.YAML()) }

// YAML returns the configuration as the text of a file.
func (n NIC) YAML() []byte {
	var b strings.Builder
	if n.Name == "" {
		n.Name = "nic-" + n.Wire
	}
	fmt.Fprintf(&b, "name: %q\npreset: roce\n", n.Name)
	if n.Socket != "" {
		fmt.Fprintf(&b, "api: {socket: %q}\n", n.Socket)
	}
	if n.Metrics != "" {
		fmt.Fprintf(&b, "metrics: {listen: %q}\n", n.Metrics)
	}
	if n.Nice != "" {
		fmt.Fprintf(&b, "nice: %q\n", n.Nice)
	}
	if n.Streams {
		b.WriteString("headroom: {send_request: on}\n")
	}
	var addresses, link []string
	for _, a := range n.Addresses {
		addresses = append(addresses, fmt.Sprintf("%q", a))
	}
	if n.Speed != "" {
		link = append(link, fmt.Sprintf("speed: %q", n.Speed))
	}
	host := []string{"kind: tap", fmt.Sprintf("wire: %q", n.Wire), "addresses: [" + list(addresses) + "]"}
	if n.MTU != 0 {
		mtu := fmt.Sprintf("mtu: %d", n.MTU)
		link, host = append(link, mtu), append(host, mtu)
	}
	fmt.Fprintf(&b, "ports:\n  %q: {%s}\n  %q: {%s}\n", n.Wire, list(link), n.TAP, list(host))
	return []byte(b.String())
}
