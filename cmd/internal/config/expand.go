package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Expand writes a configuration with every key, so that Parse makes the same Config of it. Comments show the values of
// automatic keys.
func Expand(c *Config) []byte {
	var w writer
	w.line("name: %s", quote(c.Name))
	w.buffer(&c.Buffer)
	w.line("unknown_lossless: %s", c.UnknownLossless)
	w.priorities(&c.Priorities)
	w.queues(c.Queues)
	w.watchdog(&c.Watchdog)
	w.ecn(c.ECN)
	w.line("ports:%s", emptyMark(len(c.Ports)))
	for i := range c.Ports {
		w.port(&c.Ports[i])
	}
	w.line("fdb:%s", strings.Replace(emptyMark(len(c.FDB)), "{}", "[]", 1))
	for _, entry := range c.FDB {
		w.line("  - {mac: %q, vlan: %d, port: %s}", net.HardwareAddr(entry.MAC[:]), entry.VLAN, quote(entry.Port))
	}
	w.trunks(c)
	w.line("ageing: %s", formatTime(c.Ageing))
	w.line("workers: %s", c.Workers)
	w.line("nice: %d", c.Nice)
	w.endpoints(c)
	return []byte(w.String())
}

// writer collects lines.
type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format+"\n", args...)
}

func emptyMark(entries int) string {
	if entries == 0 {
		return " {}"
	}
	return ""
}

func (w *writer) buffer(b *Buffer) {
	w.line("buffer:")
	w.line("  cell: %s", formatSize(b.Cell))
	if b.Lossless.Auto {
		w.line("  lossless: {size: auto, alpha: %s} # %s", formatNumber(b.Lossless.Alpha), formatSize(b.Lossless.Size))
	} else {
		w.line("  lossless: {size: %s, alpha: %s}", formatSize(b.Lossless.Size), formatNumber(b.Lossless.Alpha))
	}
	w.line("  lossy: {size: %s, alpha: %s}", formatSize(b.Lossy.Size), formatNumber(b.Lossy.Alpha))
	w.line("  private: %s", formatSize(b.Private))
	w.line("  headroom: %s", formatHeadroom(b.Headroom))
	if b.Xon != nil {
		w.line("  xon: %s", formatSize(*b.Xon))
	}
	w.line("  xon_offset: %s", formatSize(b.XonOffset))
	if b.Xoff != nil {
		w.line("  xoff: %s", formatSize(*b.Xoff))
	}
	w.line("  policy: %s", b.Policy)
	w.line("  ring_hold: %s", formatToggle(b.RingHold))
}

func (w *writer) priorities(p *Priorities) {
	var lossless []string
	for priority := range 8 {
		if p.IsLossless(priority) {
			lossless = append(lossless, strconv.Itoa(priority))
		}
	}
	w.line("priorities:")
	w.line("  trust: %s", p.Trust)
	w.line("  default: %d", p.Default)
	w.line("  lossless: [%s]", list(lossless))
	w.line("  dscp: {")
	for row := range 8 {
		var entries []string
		for dscp := row * 8; dscp < row*8+8; dscp++ {
			entries = append(entries, fmt.Sprintf("%d: %d", dscp, p.DSCP[dscp]))
		}
		w.line("    %s,", list(entries))
	}
	w.line("  }")
}

func (w *writer) queues(queues [8]Queue) {
	w.line("queues:")
	for priority, q := range queues {
		if q.Strict {
			w.line("  %d: {strict: true}", priority)
			continue
		}
		w.line("  %d: {weight: %d}", priority, q.Weight)
	}
}

func (w *writer) ecn(queues [8]ECN) {
	w.line("ecn:")
	for priority, e := range queues {
		if !e.Enabled {
			w.line("  %d: off", priority)
			continue
		}
		w.line("  %d: {kmin: %s, kmax: %s, pmax: %s}", priority, formatSize(e.Kmin), formatSize(e.Kmax),
			formatShare(e.Pmax))
	}
}

func (w *writer) port(p *Port) {
	w.line("  %s:", quote(p.Name))
	w.line("    interface: %s", quote(p.Interface))
	if !p.isTAP() {
		w.line("    force: %t", p.Force)
	}
	if p.Netns != "" {
		w.line("    netns: %s", quote(p.Netns))
	}
	w.line("    kind: %s", p.Kind)
	w.host(p)
	w.link(p)
	w.line("    trust: %s", p.Trust)
	w.line("    default_priority: %d", p.DefaultPriority)
	w.line("    priority_tags: %s", p.PriorityTags)
	w.line("    flow_control: %s", p.FlowControl)
	w.overrides(p)
	w.portWatchdog(&p.Watchdog)
	if !p.isTAP() {
		w.line("    ring: {outage: %s, frame: %d, max: %s, other: %d, small: %s}",
			formatTime(p.Ring.Outage), p.Ring.Frame, formatSize(p.Ring.Max), p.Ring.Other, formatSmall(p.Ring.Small))
		w.line("    send: %s", p.Send)
	}
	var tagged []string
	for _, vid := range p.Tagged {
		tagged = append(tagged, strconv.Itoa(int(vid)))
	}
	w.line("    pvid: %d", p.PVID)
	w.line("    tagged: [%s]", list(tagged))
	w.line("    learning: %t", p.Learning)
	w.line("    flood: %s", formatToggle(p.Flood))
	if p.Storm == 0 {
		w.line("    storm: off")
	} else {
		w.line("    storm: %s", formatRate(p.Storm))
	}
	w.line("    loop: %s", formatToggle(p.Loop))
}

// host writes what only a TAP has.
func (w *writer) host(p *Port) {
	if !p.isTAP() {
		return
	}
	if p.Wire != "" {
		w.line("    wire: %s", quote(p.Wire))
	}
	var addresses []string
	for _, a := range p.Addresses {
		addresses = append(addresses, strconv.Quote(a.String()))
	}
	w.line("    addresses: [%s]", list(addresses))
}

func (w *writer) link(p *Port) {
	switch {
	case p.SpeedAuto:
		w.line("    speed: auto # %s", formatRate(p.Speed))
	case p.Speed == 0:
		w.line("    speed: none")
	default:
		w.line("    speed: %s", formatRate(p.Speed))
	}
	if p.BurstAuto {
		w.line("    burst: auto # %dB", p.Burst)
	} else {
		w.line("    burst: %s", formatSize(p.Burst))
	}
	if !p.isTAP() {
		w.line("    delay: %s", formatTime(p.Delay))
	}
	w.line("    k: %d", p.K)
	w.line("    mtu: %d", p.MTU)
}

func (w *writer) overrides(p *Port) {
	header := false
	for priority, own := range p.Priorities {
		if own.empty() {
			continue
		}
		if !header {
			w.line("    priorities:")
			header = true
		}
		w.line("      %s: {%s}", p.priorityKey(priority), list(formatOverride(own)))
	}
}

func formatOverride(own Override) (entries []string) {
	if own.Alpha != nil {
		entries = append(entries, "alpha: "+formatNumber(*own.Alpha))
	}
	if own.Headroom != nil {
		entries = append(entries, "headroom: "+formatHeadroom(*own.Headroom))
	}
	for _, e := range []struct {
		name string
		size *int64
	}{{"private", own.Private}, {"xon", own.Xon}, {"xon_offset", own.XonOffset}, {"xoff", own.Xoff}} {
		if e.size != nil {
			entries = append(entries, e.name+": "+formatSize(*e.size))
		}
	}
	return entries
}

func (w *writer) endpoints(c *Config) {
	if c.Pause.Remaining {
		w.line("pause: {quanta: remaining}")
	} else {
		w.line("pause: {quanta: %d}", c.Pause.Quanta)
	}
	w.headroom(&c.Headroom)
	w.lldp(&c.LLDP)
	w.metrics(&c.Metrics)
	if c.API.Auto {
		w.line("api: {socket: auto} # %s", c.API.Socket)
	} else {
		w.line("api: {socket: %q}", c.API.Socket)
	}
	w.capture(&c.Capture)
}

func (w *writer) metrics(m *Metrics) {
	listen, file := "off", "off"
	if m.Listen != "" {
		listen = strconv.Quote(m.Listen)
	}
	if m.WebConfig != "" {
		file = strconv.Quote(m.WebConfig)
	}
	hosts := make([]string, len(m.Hosts))
	for i, name := range m.Hosts {
		hosts[i] = strconv.Quote(name)
	}
	w.line("metrics: {listen: %s, web_config: %s, hosts: [%s]}", listen, file, list(hosts))
}

func formatHeadroom(h Headroom) string {
	if h.Mode == HeadroomFixed {
		return formatSize(h.Bytes)
	}
	return string(h.Mode)
}

// quote leaves a plain word as it is, unless YAML reads the word as another type.
func quote(text string) string {
	plain := identifier(text, 64) && text[0] > '9'
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return text
	}
	return strconv.Quote(text)
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func list(entries []string) string { return strings.Join(entries, ", ") }
