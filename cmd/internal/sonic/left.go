package sonic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Left is what has no counterpart, and why.
type Left struct {
	Place
	Why string
}

// leave lists a place. What it contains counts as read.
func (im *importer) leave(at Place, why string, args ...any) {
	l := Left{at, printable(fmt.Sprintf(why, args...))}
	if !slices.Contains(im.left, l) {
		im.left = append(im.left, l)
	}
}

// leaveRow lists a whole key.
func (im *importer) leaveRow(r *row, why string, args ...any) {
	r.read = true
	for _, f := range r.fields {
		f.read = true
	}
	im.leave(r.at, why, args...)
}

// leaveRest lists what nobody has read: whole tables, keys without fields, and fields.
func (im *importer) leaveRest() {
	for _, t := range im.db.tables {
		if !slices.Contains(tables, t.name) {
			im.leave(Place{Table: t.name}, "%s", reasonOfTable(t.name))
			continue
		}
		for _, r := range t.rows {
			if !r.read && !slices.ContainsFunc(r.fields, func(f *field) bool { return f.read }) {
				im.leaveRow(r, "%s", unused(t.name))
			}
			for _, f := range r.fields {
				if !f.read {
					im.leave(f.at, "%s", reasonOfField(f.at))
				}
			}
		}
	}
}

// tables are those that functions of this package read.
var tables = []string{
	"BUFFER_PG", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_QUEUE", "CABLE_LENGTH", "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
	"DEVICE_METADATA", "DOT1P_TO_TC_MAP", "DSCP_TO_TC_MAP", "LOSSLESS_TRAFFIC_PATTERN", "MAP_PFC_PRIORITY_TO_QUEUE",
	"PFC_WD", "PORT", "PORT_QOS_MAP", "QUEUE", "SCHEDULER", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "VLAN",
	"VLAN_MEMBER", "WRED_PROFILE",
}

// otherTables says why tables whose names begin so have no counterpart.
var otherTables = []struct{ names, why string }{
	{"BGP LOOPBACK_INTERFACE INTERFACE VLAN_INTERFACE VLAN_SUB_INTERFACE PORTCHANNEL_INTERFACE ROUTE STATIC_ROUTE " +
		"VRF NEIGH VNET VXLAN TUNNEL OSPF BFD", "the switch does not route, and has no addresses"},
	{"PORTCHANNEL", "the switch has no link aggregation"},
	{"PORT_STORM_CONTROL", "a port has one limit for all frames that it floods: ports.NAME.storm"},
	{"LLDP", "what ports tell their neighbors stands in lldp"},
	{"BREAKOUT_CFG", "the link below the interface belongs to Linux"},
	{"ACL MIRROR POLICER", "the switch has no filters by content and no mirror: see pfcswitch capture"},
	{"BUFFER_PORT", "no port has a buffer beside those of its queues"},
	{"DOT1P TC_TO DSCP_TO PFC_PRIORITY MPLS_TC EXP_TO", "the switch does not rewrite or map this: priority, queue " +
		"and priority group have one number"},
	{"STP IGMP MCLAG", "the switch has no such protocol"},
	{"FLEX_COUNTER CRM DEBUG_COUNTER", "the switch counts always"},
	{"DEVICE_NEIGHBOR", "neighbors are found by LLDP"},
}

func reasonOfTable(name string) string {
	for _, other := range otherTables {
		for begin := range strings.FieldsSeq(other.names) {
			if strings.HasPrefix(name, begin) {
				return other.why
			}
		}
	}
	return "it belongs to the system around the switch"
}

// unused says why a whole key of a table is not used.
func unused(table string) string {
	switch table {
	case "BUFFER_PROFILE":
		return "no priority group of a lossless priority and no queue of a lossy one uses it"
	case "BUFFER_POOL":
		return "lossless frames are counted in the ingress pool alone, and lossy ones in the egress pool alone"
	case "VLAN":
		return "no port is a member"
	}
	return "no port uses it"
}

// otherFields says why fields have no counterpart.
var otherFields = []struct{ table, names, why string }{
	{"PORT", "alias index description asic_port_name core_id core_port_id num_voq role subport coreId corePortId",
		"a port has its name, and nothing else to tell it"},
	{"PORT", "lanes fec autoneg adv_speeds adv_interface_types interface_type link_training laser_freq tx_power " +
		"media media_type macsec muxcable dom_polling fast_linkup", "the link below the interface belongs to Linux"},
	{"PORT", "mode", "VLAN_MEMBER says which frames a port takes"},
	{"LOSSLESS_TRAFFIC_PATTERN", "mtu", "the headroom is calculated with the mtu of each port"},
	{"PORT_QOS_MAP", "scheduler", "speed is the only shaper of a port"},
	{"PORT_QOS_MAP", "tc_to_dscp_map tc_to_dot1p_map pfc_to_pg_map dscp_to_fc_map exp_to_fc_map mpls_tc_to_tc_map",
		"the switch does not rewrite or map this: priority, queue and priority group have one number"},
	{"SCHEDULER", "meter_type cir cbs pir pbs", "a queue has no shaper"},
	{"WRED_PROFILE", "wred_yellow_enable wred_red_enable yellow_min_threshold yellow_max_threshold " +
		"yellow_drop_probability red_min_threshold red_max_threshold red_drop_probability",
		"the queues of a port know no colours"},
	{"PFC_WD", "pfc_stat_history", "the metrics are the history"},
	{"PFC_WD", "BIG_RED_SWITCH", "the action of the watchdog holds for each queue alone"},
	{"DEVICE_METADATA", "*", "it describes the device around the switch"},
	{"BUFFER_PROFILE", "packet_discard_action", "frames are not trimmed"},
	{"VLAN", "*", "a VLAN has no settings beside its members"},
}

func reasonOfField(at Place) string {
	for _, other := range otherFields {
		if at.Table == other.table && (other.names == "*" || slices.Contains(strings.Fields(other.names), at.Field)) {
			return other.why
		}
	}
	return "the switch has nothing of this kind"
}

// A group are places of a table and a field, with one reason.
type group struct {
	Left
	keys []string
}

// listed writes what is left as comments. Keys with the same field and reason stand in one entry, with commas as in
// SONiC's own keys, and so do fields of the same keys with one reason.
func listed(left []Left) string {
	var groups []*group
	for _, l := range left {
		key := l.Key
		l.Key = ""
		i := slices.IndexFunc(groups, func(g *group) bool { return g.Left == l && (len(g.keys) == 0) == (key == "") })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{Left: l})
		}
		if key != "" {
			groups[i].keys = append(groups[i].keys, key)
		}
	}
	text := ""
	for _, g := range joined(groups) {
		at := Place{g.Table, strings.Join(g.keys, ","), g.Field}
		text += wrapped(at.String() + ": " + g.Why)
	}
	return text
}

// joined joins the fields of groups with the same keys and reason, and sorts the groups by table.
func joined(groups []*group) (all []*group) {
	for _, g := range groups {
		i := slices.IndexFunc(all, func(other *group) bool {
			return g.Table == other.Table && g.Why == other.Why && g.Field != "" && other.Field != "" &&
				slices.Equal(g.keys, other.keys)
		})
		if i < 0 {
			all = append(all, g)
		} else {
			all[i].Field += "," + g.Field
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return strings.Compare(a.Table, b.Table) })
	return all
}

const columns = 110

// wrapped writes a comment, broken behind blanks and commas.
func wrapped(text string) string {
	s := "# "
	width := 0
	for len(text) > 0 {
		end := strings.IndexAny(text, " ,") + 1
		end = cmp.Or(end, len(text))
		for end < len(text) && text[end] == ' ' {
			end++
		}
		if width > 0 && width+end > columns {
			s = strings.TrimRight(s, " ") + "\n#   "
			width = 2
		}
		s, text, width = s+text[:end], text[end:], width+end
	}
	return s + "\n"
}

// printable quotes a text that could end a comment, or change what a terminal shows.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(text)
	}
	return text
}
