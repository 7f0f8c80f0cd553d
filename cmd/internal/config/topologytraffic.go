package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// LabTraffic is the load of one entry under traffic: frames from each host of From to each other host of To.
//
//	traffic:
//	  storage: {from: [h1, h2, h3], to: h4, priority: 3, octets: 1518, duration: 100ms}    # as fast as the links
//	  web: {from: h1, to: h4, priority: 0, rate: 20M, start: 10ms, duration: 50ms}
//	  all: {incast: h4, duration: 1s}                                  # from all other hosts
//	  half: {permutation: on, duration: 1s}                            # from each host to the one half the way round
//	  shuffle: {all-to-all: on, size: 1MB, window: 64KiB}              # from each host to each other, so much each
//	  search: {poisson: web-search, load: 60%, duration: 10ms}         # flows of random sizes, at random times
type LabTraffic struct {
	Name            string
	From, To        []string // hosts
	Priority        uint8
	Octets          int   // of a frame, without FCS, with its tag; 0: the longest that the links carry
	Rate            int64 // bit/s on the wire of each pair; 0: as fast as the link of the host
	Start, Duration time.Duration
	Size            int64   // payload octets that each pair has to send; 0: until the end of Duration
	TTL             uint8   // switches that pass a frame on, after which it is discarded; 0: any number
	Window          int64   // payload octets that may be on their way without an acknowledgement; 0: any number
	Poisson         string  // of which distribution the sizes of flows are; empty: one flow of each pair
	DCQCN           bool    // congestion control of the senders
	Load            float64 // with Poisson: share of the link of each host of From that its flows are to take

	incast      string
	permutation bool
	allToAll    bool
	pairs       [][2]string
}

// Distributions are the published distributions of flow sizes.
var Distributions = []string{"web-search", "data-mining", "hadoop"}

// Pairs are the pairs of hosts between which frames go: none with Poisson, where each of From sends to some of To.
func (t *LabTraffic) Pairs() [][2]string { return t.pairs }

// labTag is what a frame with a tag may be longer than the MTU: header and tag, in octets.
const labTag = 18

const (
	minLabOctets = 64
	maxLabTime   = time.Hour
	maxLabSize   = 1 << 40
	mostLabTTL   = 254
)

func (r *labReader) readTraffic(v value) {
	v.each(nameForm, "f1", func(name string, v value) {
		if !identifier(name, 32) {
			v.fail("%q cannot name traffic: "+nameRule, name)
			return
		}
		t := LabTraffic{Name: name, Priority: 3, Duration: time.Second}
		v.read(
			hostNames("from", &t.From),
			hostNames("to", &t.To),
			key("incast", &t.incast, nodeName),
			key("permutation", &t.permutation, toggle),
			key("all-to-all", &t.allToAll, toggle),
			key("size", &t.Size, size(1, maxLabSize)),
			key("window", &t.Window, size(1, maxLabSize)),
			key("ttl", &t.TTL, number[uint8]("number of switches", 1, mostLabTTL)),
			key("poisson", &t.Poisson, named(Distributions, Distributions...)),
			key("load", &t.Load, share),
			key("cc", &t.DCQCN, named([]string{"dcqcn", "off"}, true, false)),
			key("priority", &t.Priority, number[uint8]("priority", 0, 7)),
			key("octets", &t.Octets, number[int]("frame", minLabOctets, 65535+labTag)),
			key("rate", &t.Rate, orWord(rate(1000), "saturating", 0)),
			key("start", &t.Start, duration(0, maxLabTime)),
			key("duration", &t.Duration, duration(1, maxLabTime)),
		)
		r.lab.Traffic = append(r.lab.Traffic, t)
	})
}

var nodeName = textual(nameForm, "cannot name a node: "+nameRule,
	func(text string) bool { return identifier(text, 32) })

// hostNames is a key with one host, or a list of them.
func hostNames(name string, dst *[]string) field {
	all := entries(name, dst, nodeName, "%v")
	return field{name, func(v value) {
		_, list := v.node.(*ast.SequenceNode)
		if list || v.schema != nil {
			all.read(v)
		}
		if list {
			return
		}
		var one string
		if set(&one, nodeName)(v); one != "" {
			*dst = []string{one}
		}
	}, nil}
}

// A trafficCheck finds the pairs of hosts, and what is wrong with traffic.
type trafficCheck struct {
	doc   *document
	hosts map[string]*LabHost
	links map[string]*LabLink // of each host's eth0
	wired []string            // hosts with such a link, in the order of the file
	pairs int                 // of all entries so far
}

// mostLabPairs bounds the pairs of hosts: two long lists would make more than a machine holds.
const mostLabPairs = 1 << 16

func (r *labReader) checkTraffic(hosts map[string]*LabHost) {
	c := trafficCheck{doc: r.doc, hosts: hosts, links: r.wired}
	for _, h := range r.lab.Hosts {
		if c.links[h.Name] != nil {
			c.wired = append(c.wired, h.Name)
		}
	}
	for i := range r.lab.Traffic {
		c.check(&r.lab.Traffic[i])
	}
}

func (c *trafficCheck) fail(t *LabTraffic, key, format string, args ...any) {
	c.doc.failKey("traffic."+t.Name+key, format, args...)
}

func (c *trafficCheck) check(t *LabTraffic) {
	c.checkHosts(t, ".from", t.From)
	c.checkHosts(t, ".to", t.To)
	if t.incast != "" {
		c.checkHosts(t, ".incast", []string{t.incast})
	}
	from, to := len(t.From) > 0, len(t.To) > 0
	forms := 0
	for _, form := range []bool{t.permutation, t.allToAll, t.incast != "", t.Poisson != "", to && t.Poisson == ""} {
		if form {
			forms++
		}
	}
	switch {
	case forms != 1, to && !from && t.Poisson == "", from && (t.permutation || t.allToAll):
		c.fail(t, "", "want one of five forms: from and to; incast, with from or without; permutation: on; "+
			"all-to-all: on; poisson, with from and to or without")
		return
	case (t.Poisson != "") != (t.Load > 0):
		c.fail(t, "", "poisson and load go together: write both, such as poisson: web-search, load: 60%%")
		return
	case t.Poisson != "" && t.Size > 0:
		c.fail(t, ".size", "poisson gives the sizes of flows: remove one of them")
		return
	}
	if t.allToAll || t.Poisson != "" {
		if !from {
			t.From = c.wired
		}
		if !to {
			t.To = c.wired
		}
	}
	if t.Poisson != "" {
		if len(t.From) == 0 || len(t.To) == 0 || len(t.From)*len(t.To) == 1 && t.From[0] == t.To[0] {
			c.fail(t, "", "no frame would go: name at least two hosts")
		}
		c.checkOctets(t)
		return
	}
	if c.pairs += len(t.From) * len(t.To); c.pairs > mostLabPairs {
		c.fail(t, "", "more than %d pairs of hosts in all: write fewer", mostLabPairs)
		return
	}
	if t.pairs = c.pairsOf(t); len(t.pairs) == 0 {
		c.fail(t, "", "no frame would go: name at least two hosts")
	}
	c.checkOctets(t)
}

// checkHosts finds names that are those of no host with a link.
func (c *trafficCheck) checkHosts(t *LabTraffic, key string, names []string) {
	for _, name := range names {
		switch {
		case c.hosts[name] == nil:
			c.fail(t, key, "%q is no host: add it to hosts, or correct the name", name)
		case c.links[name] == nil:
			c.fail(t, key, "no link leads to %s: add one, such as ends: [%[1]s, \"s1:p1\"]", name)
		}
	}
}

// pairsOf lists the pairs of hosts of an entry.
func (c *trafficCheck) pairsOf(t *LabTraffic) (pairs [][2]string) {
	from, to := t.From, t.To
	switch {
	case t.permutation:
		for i, name := range c.wired {
			if other := c.wired[(i+len(c.wired)/2)%len(c.wired)]; other != name {
				pairs = append(pairs, [2]string{name, other})
			}
		}
		return pairs
	case t.incast != "":
		if to = []string{t.incast}; len(from) == 0 {
			from = c.wired
		}
	}
	for _, a := range from {
		for _, b := range to {
			if a != b {
				pairs = append(pairs, [2]string{a, b})
			}
		}
	}
	return pairs
}

// checkOctets sets the octets of frames where none are written, and refuses frames that the links of the hosts do not
// carry.
func (c *trafficCheck) checkOctets(t *LabTraffic) {
	most, at := 65535, ""
	look := func(host string) {
		if l := c.links[host]; l != nil && l.MTU < most {
			most, at = l.MTU, l.Name
		}
	}
	for _, pair := range t.pairs {
		look(pair[0])
		look(pair[1])
	}
	if t.Poisson != "" {
		for _, host := range slices.Concat(t.From, t.To) {
			look(host)
		}
	}
	t.Octets = cmp.Or(t.Octets, max(most+labTag, minLabOctets))
	if t.Octets > most+labTag {
		c.fail(t, ".octets", "%s carries frames of %d octets at most, with their tag: write no more, or raise "+
			"links.%[1]s.mtu", at, most+labTag)
	}
}

// InSwitch gives the faults of a switch's configuration the keys that they have in this file, where they are in it.
func (t *Topology) InSwitch(name string, err error) error {
	var one *Error
	var all *Errors
	switch {
	case errors.As(err, &all):
		for _, e := range all.List {
			t.prefix(name, e)
		}
	case errors.As(err, &one):
		t.prefix(name, one)
	}
	return err
}

// Warnings are those of all switches, each once.
func (t *Topology) Warnings() (all []Warning) {
	seen := map[string]bool{}
	for _, s := range t.Switches {
		for _, w := range s.Config.Warnings() {
			fault := w.Error
			t.prefix(s.Name, &fault)
			if fault.File == t.source.file && s.Config.source.lines[w.Key] == 0 { // a key that is not written
				fault.Line = t.source.line(fault.Key)
			}
			if once := fmt.Sprint(fault.File, fault.Line, fault.Text); !seen[once] {
				seen[once] = true
				all = append(all, Warning{fault, w.Note})
			}
		}
	}
	return all
}

func (t *Topology) prefix(name string, e *Error) {
	if e.File == t.source.file {
		e.Key = strings.TrimSuffix("switches."+name+"."+e.Key, ".")
	}
}
