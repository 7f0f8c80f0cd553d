package config

import (
	"fmt"

	"pfcswitch/dataplane/trunk"
)

func (w *writer) trunks(c *Config) {
	if len(c.Trunks) == 0 {
		return
	}
	w.line("trunks:")
	for i := range c.Trunks {
		w.trunk(&c.Trunks[i])
	}
}

func (w *writer) trunk(t *Trunk) {
	var members []string
	for _, name := range t.Members {
		members = append(members, quote(name))
	}
	w.line("  %s:", quote(t.Name))
	w.line("    uplink: %s", quote(t.Uplink))
	w.line("    members: [%s]", list(members))
	w.line("    distribution: %s", t.Distribution)
	w.line("    flow_control: %s", t.FlowControl)
	w.meters(t)
	w.red(t)
	w.watermarks(&t.Watermarks)
	w.line("    meter_octets: %s", t.MeterOctets)
	w.line("    colour: %s", t.Colour)
	w.line("    red_queue: %s", t.REDQueue)
}

func (w *writer) meters(t *Trunk) {
	w.line("    meters:")
	for p := range t.Meters {
		w.meter(t, fmt.Sprint(p), &t.Meters[p], &t.Profiles[p])
	}
	w.meter(t, "total", &t.TotalMeter, &t.Total)
}

// meter writes the keys of the file, and the values in force as a comment.
func (w *writer) meter(t *Trunk, name string, m *TrunkMeter, p *trunk.MeterConfig) {
	var entries []string
	for _, e := range []struct {
		name   string
		given  *int64
		format func(int64) string
	}{{"cir", m.CIR, formatRate}, {"pir", m.PIR, formatRate}, {"cbs", m.CBS, formatSize}, {"pbs", m.PBS, formatSize}} {
		if e.given != nil {
			entries = append(entries, e.name+": "+e.format(*e.given))
		}
	}
	comment := "not metered: the members together are no faster than the uplink"
	if t.Metered {
		comment = fmt.Sprintf("cir %s, pir %s, cbs %s, pbs %s", formatRate(p.CIR), formatRate(p.PIR), formatSize(p.CBS), formatSize(p.PBS))
	}
	w.line("      %s: {%s} # %s", name, list(entries), comment)
}

func (w *writer) red(t *Trunk) {
	var entries []string
	for p, r := range t.RED {
		if r != nil {
			entries = append(entries, fmt.Sprintf("%d: %s", p, r))
		}
	}
	if t.TotalRED != nil {
		entries = append(entries, fmt.Sprintf("total: %s", t.TotalRED))
	}
	w.line("    red: {%s}", list(entries))
}

// String writes the setting as the configuration does.
func (r *TrunkRED) String() string {
	return fmt.Sprintf("{low: %s, high: %s, probability: %s}", formatSize(r.Low), formatSize(r.High), formatShare(r.Probability))
}

func (w *writer) watermarks(m *Watermarks) {
	var entries []string
	add := func(name string, mark *Mark) {
		if mark != nil {
			entries = append(entries, fmt.Sprintf("%s: {high: %s, low: %s}", name, formatSize(mark.High), formatSize(mark.Low)))
		}
	}
	add("member", m.Member)
	add("uplink", m.Uplink)
	all := entries
	for i, marks := range []*[8]*Mark{&m.Priority, &m.UplinkPriority} {
		entries = nil
		for p := range marks {
			add(fmt.Sprint(p), marks[p])
		}
		if entries != nil {
			all = append(all, fmt.Sprintf("%s: {%s}", []string{"priority", "uplink_priority"}[i], list(entries)))
		}
	}
	w.line("    watermarks: {%s}", list(all))
}
