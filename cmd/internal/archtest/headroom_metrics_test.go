package archtest

import (
	"reflect"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
	"pfcswitch/metrics"
)

// headroomMetrics says for each number and truth of show headroom -j which metric has it too; a key stands for all
// below it.
var headroomMetrics = map[string]string{
	"state":           "port_up headroom_agreed headroom_silent headroom_manual_required",
	"auto":            "headroom_auto",
	"manual_required": "headroom_manual_required",
	"control_frames":  "headroom_control_frames_pass",

	"calculated_bytes": "headroom_calculated_bytes",
	"calculated.bits":  "headroom_calculated_bytes", "calculated.bytes": "headroom_calculated_bytes",
	"calculated.terms": "headroom_formula_part_bytes",
	"eta.bits":         "headroom_value_bytes", "eta.bytes": "headroom_value_bytes",
	"eta.terms":  "headroom_formula_part_bytes",
	"delay.bits": "headroom_value_bytes", "delay.bytes": "headroom_value_bytes",
	"delay.terms":   "headroom_formula_part_bytes",
	"measured.bits": "headroom_value_bytes", "measured.bytes": "headroom_value_bytes",
	"measured.terms": "headroom_part_bytes",
	"plain_bits":     "headroom_value_bytes", "received_bits": "headroom_value_bytes",
	"peer_found_bits": "headroom_value_bytes",
	"told_bits":       "headroom_value_bytes", "peer_has_bytes": "headroom_value_bytes",
	"target_bytes": "headroom_value_bytes", "needs_bytes": "headroom_value_bytes",
	"told":           "headroom_told",
	"in_force_bytes": "headroom_configured_bytes",
	"holds_bytes":    "headroom_value_bytes",
	"xon_bytes":      "headroom_xon_measured_bytes",

	"finding.trip_ns": "headroom_found_seconds", "finding.precision_ns": "headroom_found_seconds",
	"finding.reaction_ns":     "headroom_found_seconds",
	"finding.send_limit_bits": "headroom_peer_send_call_bytes", "finding.burst_bits": "headroom_part_bytes",
	"trip": "headroom_trip_seconds headroom_samples", "turn_idle": "headroom_turnaround_seconds headroom_samples",
	"turn_busy":     "headroom_turnaround_seconds headroom_samples",
	"reaction":      "headroom_reaction_seconds headroom_samples",
	"reaction_idle": "headroom_reaction_seconds headroom_samples",
	"reaction_busy": "headroom_reaction_seconds headroom_samples",

	"queues.size_bytes": "headroom_configured_bytes", "queues.xon_bytes": "headroom_xon_bytes",
	"queues.xoffs":      "headroom_xoffs_total",
	"queues.peak_bytes": "headroom_used_max_bytes", "queues.ring_bytes": "headroom_before_xoff_max_bytes",
	"queues.ring_frames": "headroom_waited_frames_total", "queues.crowded_frames": "headroom_waited_frames_total",
	"queues.early_frames": "headroom_waited_frames_total", "queues.pool_frames": "headroom_waited_frames_total",
	"queues.late_xoffs": "headroom_late_xoffs_total",
	"queues.late_ns":    "headroom_late_max_seconds", "queues.ring_total_bytes": "headroom_before_xoff_bytes_total",
	"queues.exceeded_xoffs": "headroom_exceeded_total", "queues.tightest": "headroom_least_left_bytes",
	"messages": "headroom_messages_total",
}

// notMetrics are the keys that have none.
var notMetrics = map[string]string{
	"port": "a label", "queues.priority": "a label",
	"neighbor": "a text", "remedy": "a text", "bound": "a text",
	"peer_applied":        "peer_has by told",
	"turn":                "of the same samples as turn_idle and turn_busy",
	"queues.paced_bytes":  "the part of peak_bytes that demo headroom compares",
	"small_packets_share": "a setting",
	"cell_bytes":          "a setting", "in_force_cells": "bytes by the size of a cell",
	"calculated.cells": "likewise", "eta.cells": "likewise", "delay.cells": "likewise", "measured.cells": "likewise",
}

// All of show headroom is a metric too, or it is said why not.
func TestHeadroomIsInMetrics(t *testing.T) {
	families, used := metrics.Families(), map[string]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		if told := headroomMetrics[path]; told != "" || notMetrics[path] != "" {
			used[path] = true
			assert.True(t, (told != "") != (notMetrics[path] != ""), "%s is a metric and is none", path)
			for _, name := range strings.Fields(told) {
				_, ok := families["pfcswitch_"+name]
				assert.True(t, ok, "%s: there is no metric %s", path, name)
			}
			return
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(path, typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				key, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
				walk(strings.TrimPrefix(path+"."+key, "."), typ.Field(i).Type)
			}
		default:
			t.Errorf("no metric has %s", path)
		}
	}
	walk("", reflect.TypeFor[api.HeadroomPort]())
	got, want := len(used), len(headroomMetrics)+len(notMetrics)
	assert.True(t, got == want, "of %d keys that are named here show headroom has %d: %v", want, got, used)
}
