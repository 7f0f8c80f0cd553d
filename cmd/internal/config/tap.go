package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"pfcswitch/dataplane/port"
)

// tapAlpha is the default alpha of a TAP. The host waits for room instead of losing frames, so the queues are kept
// short.
const tapAlpha = 1.0 / 16

// isTAP reports whether the port leads to the host's stack.
func (p *Port) isTAP() bool { return p.Kind == KindTAP }

// readKind also sets the defaults of a TAP, which has no speed.
func (p *Port) readKind(v value) {
	set(&p.Kind, oneOf(KindEthernet, KindTAP))(v)
	if p.isTAP() {
		p.Speed, p.SpeedAuto, p.Loop = 0, false, false
	}
}

// hostAddress reads an interface address with its prefix length.
var hostAddress = simple(pattern(`^[0-9A-Fa-f.:]+/[0-9]{1,3}$`, ""), "is not an interface's address: write it with the "+
	"length of its prefix, such as 10.0.0.1/24 or fd00::1/64",
	func(p netip.Prefix) string { return strconv.Quote(p.String()) },
	func(text string) (netip.Prefix, bool) {
		p, err := netip.ParsePrefix(text)
		return p, err == nil && !p.Addr().IsUnspecified() && !p.Addr().IsMulticast()
	})

// checkTAP refuses keys that only a TAP has, or that a TAP cannot have.
func (p *Port) checkTAP(v value) {
	refused, text := []string{"wire", "addresses"}, "only a port with kind: tap has it: remove it, or write kind: tap"
	if p.isTAP() {
		refused, text = []string{"ring", "send", "cable", "delay", "force"},
			"a TAP has none: its frames wait in the host's kernel, and there is no cable to it; remove the key"
	}
	for _, key := range refused {
		if e, written := find(v.pairs(), key); written {
			e.value.fail("%s", text)
		}
	}
	if p.isTAP() {
		p.checkTAPMTU(v.at("mtu"))
	}
}

// Limits of Linux on the MTU of a TAP, and of an interface with IPv6 (RFC 8200).
const (
	maxTAPMTU  = 65535 - 14
	minMTUIPv6 = 1280
)

func (p *Port) checkTAPMTU(v value) {
	six := slices.IndexFunc(p.Addresses, func(a netip.Prefix) bool { return a.Addr().Is6() })
	switch {
	case p.MTU > maxTAPMTU:
		v.fail("%d is above what Linux gives a TAP: write %d or less", p.MTU, maxTAPMTU)
	case six >= 0 && p.MTU < minMTUIPv6:
		v.fail("%d is too small for %v: IPv6 needs an mtu of %d or more", p.MTU, p.Addresses[six], minMTUIPv6)
	}
}

func (c *Config) wires() map[string]string {
	taps := map[string]string{}
	for p := range c.ports() {
		if p.Wire != "" {
			taps[p.Wire] = p.Name
		}
	}
	return taps
}

// Joined returns the port with which a port exchanges all frames, if there is one.
func (c *Config) Joined(p *Port) (other string, ok bool) {
	if p.Wire != "" {
		return p.Wire, true
	}
	other, ok = c.wires()[p.Name]
	return other, ok
}

func (c *Config) port(name string) *Port {
	for p := range c.ports() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// checkWires checks that a wire joins one TAP with one port that leads out of the host.
func (c *Config) checkWires() (faults []*Error) {
	taps := c.wires()
	for p := range c.ports() {
		if p.Wire == "" {
			continue
		}
		key := "ports." + p.Name + ".wire"
		switch w := c.port(p.Wire); {
		case w == nil:
			faults = append(faults, c.Errorf(key, "%q is no port: add it under ports, or write the key of another",
				p.Wire))
		case w.isTAP():
			faults = append(faults, c.Errorf(key, "port %s is a TAP too: name the port that leads out of the host",
				p.Wire))
		case taps[p.Wire] != p.Name:
			faults = append(faults, c.Errorf(key,
				"port %s is the wire of port %s already: give each TAP a wire of its own", p.Wire, taps[p.Wire]))
		case p.MTU > w.MTU:
			faults = append(faults, c.Errorf("ports."+p.Name+".mtu",
				"%d is more than the %d of its wire, port %s, which would drop the longest frames: write the same "+
					"MTU for both", p.MTU, w.MTU, w.Name))
		}
	}
	return append(faults, c.checkWiredFDB(taps)...)
}

// warnWires finds TAPs with a smaller MTU than their wires.
func (c *Config) warnWires() (all []Warning) {
	for p := range c.ports() {
		if w := c.port(p.Wire); w != nil && p.MTU < w.MTU {
			all = append(all, c.warning("ports."+p.Name+".mtu",
				"%d, below the %d of its wire, port %s: with a speed, longer frames that come by the wire are "+
					"dropped before the host: write the same MTU for both", p.MTU, w.MTU, w.Name))
		}
	}
	return all
}

func (c *Config) checkWiredFDB(taps map[string]string) (faults []*Error) {
	for i := range c.FDB {
		for at, name := range c.FDB[i].behind(fmt.Sprintf("fdb[%d]", i)) {
			if p := c.port(name); p != nil && (p.Wire != "" || taps[p.Name] != "") {
				faults = append(faults, c.Errorf(at,
					"port %s is joined to a TAP or to its wire, and no part of the bridge: remove the entry", p.Name))
			}
		}
	}
	return faults
}

// tapHeadroom is what a held host priority still sends: one burst, in bytes. Segments of 536 octets, the smallest that
// TCP uses, fill up to half as much again in cells.
func tapHeadroom() int64 { return port.TAPBurst * 3 / 2 }
