package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/dataplane"
)

// A View is a table of an answer in the words of SONiC's command line.
type View struct {
	Words string // behind the noun's own name, such as "watermark headroom"
	Noun  string // whose answer it is made of
	Short string
	Text  func(Reply) string
}

// Views returns the tables in SONiC's words by their group, such as "priority-group".
func Views() map[string][]View {
	watermarks := func(kind string, level func(*Segment) int64) (all []View) {
		for _, segment := range []string{"shared", "headroom"} {
			all = append(all, View{kind + " " + segment, "buffer", "most bytes in the " + segment +
				" segment of each priority group",
				func(r Reply) string { return r.(*Buffer).groupWatermarks(segment, level) }})
		}
		return all
	}
	user, start := func(s *Segment) int64 { return s.MaxClearBytes }, func(s *Segment) int64 { return s.MaxStartBytes }
	return map[string][]View{
		"pfc": {{"counters", "pfc", "PFC and PAUSE frames of each priority, received and sent",
			func(r Reply) string { return r.(*PFC).counters() }},
			{"asymmetric", "pfc", "ports that obey PFC of all priorities, and send that of the lossless ones",
				func(r Reply) string { return r.(*PFC).asymmetric() }}},
		"priority-group": slices.Concat(watermarks("watermark", user), watermarks("persistent-watermark", start)),
		"buffer-pool": {
			{"watermark", "buffer", "most bytes in each pool since clear watermarks",
				func(r Reply) string { return r.(*Buffer).poolWatermarks(user) }},
			{"persistent-watermark", "buffer", "most bytes in each pool since the start",
				func(r Reply) string { return r.(*Buffer).poolWatermarks(start) }},
		},
		"ports": {
			{"counters", "ports", "frames, rates and drops of each port",
				func(r Reply) string { return r.(*Ports).counters() }},
			{"status", "ports", "speed and state of each port", func(r Reply) string { return r.(*Ports).status() }},
		},
		"queues": {{"counters", "queues", "frames of each queue, sent and dropped",
			func(r Reply) string { return r.(*Queues).counters() }}},
		"watchdog": {
			{"stats", "watchdog", "storms, and frames during storms", func(r Reply) string {
				return r.(*Watchdog).stats()
			}},
			{"config", "watchdog", "action and times of each port, in ms", func(r Reply) string {
				return r.(*Watchdog).config()
			}},
		},
		"lldp": {
			{"table", "lldp", "neighbors, one a line", func(r Reply) string { return r.(*LLDP).table() }},
			{"neighbors", "lldp", "all that neighbors tell", func(r Reply) string { return r.(*LLDP).neighbors() }},
		},
	}
}

// counters lists the frames as SONiC's "show pfc counters" does. A PAUSE counts for every priority.
func (r *PFC) counters() string {
	received, sent := priorityTable("Port Rx", "PFC"), priorityTable("Port Tx", "PFC")
	for _, p := range r.Ports {
		rx, tx := []any{p.Port}, []any{p.Port}
		for prio := range Priority(dataplane.NumPriorities) {
			var in, out any = none, none
			for _, q := range p.Priorities {
				if q.Priority == prio || q.Priority == All {
					in, out = q.ReceivedFrames, q.SentFrames
				}
			}
			rx, tx = append(rx, in), append(tx, out)
		}
		received.row(rx...)
		sent.row(tx...)
	}
	return sections(r.headline(), section{"", received}, section{"", sent})
}

// asymmetric lists ports as "show pfc asymmetric" does.
func (r *PFC) asymmetric() string {
	t := newTable("Interface", "Asymmetric")
	for _, p := range r.Ports {
		t.row(p.Port, either(p.Asymmetric, "on", "off"))
	}
	return sections(r.headline(), section{"", t})
}

func priorityTable(first, name string) *table {
	names := []string{first}
	for prio := range dataplane.NumPriorities {
		names = append(names, ">"+name+strconv.Itoa(prio))
	}
	return newTable(names...)
}

// groupWatermarks lists one kind of watermark by port and priority group. Lossy groups have none.
func (r *Buffer) groupWatermarks(segment string, level func(*Segment) int64) string {
	t := priorityTable("Port", "PG")
	for _, p := range r.Ports {
		row := []any{p.label()}
		for prio := range Priority(dataplane.NumPriorities) {
			var most any = none
			for _, q := range p.IngressQueues {
				for name, s := range q.Segments.All() {
					if name == segment && (q.Priority == prio || q.Priority == All && prio == 0) {
						most = level(s)
					}
				}
			}
			row = append(row, most)
		}
		t.row(row...)
	}
	return sections(r.headline(), section{"Bytes; the one group of a port with 802.3x PAUSE is PG0", t})
}

func (r *Buffer) poolWatermarks(of func(*Segment) int64) string {
	t := newTable("Pool", "Segment", ">Bytes", ">Size")
	for _, p := range r.Pools {
		for name, s := range p.Segments.All() {
			t.row(p.Pool, name, of(s), s.SizeBytes)
		}
	}
	return sections(r.headline(), section{"", t})
}

// counters lists ports as "show interfaces counters" does. What this switch does not count is "-". A drop is counted
// where the frame arrived.
func (r *Ports) counters() string {
	t := newTable("IFACE", "STATE", ">RX_OK", ">RX_BPS", ">RX_UTIL", ">RX_ERR", ">RX_DRP", ">RX_OVR", ">TX_OK",
		">TX_BPS", ">TX_UTIL", ">TX_ERR", ">TX_DRP", ">TX_OVR")
	for _, p := range r.Ports {
		receive, transmit, rxShare, txShare := none, none, none, none
		if p.Recent != nil {
			receive, transmit = bytesPerSecond(p.Recent.ReceiveBits), bytesPerSecond(p.Recent.TransmitBits)
		}
		if rx, tx, ok := p.Utilization(); ok {
			rxShare, txShare = fmt.Sprintf("%.2f%%", 100*rx), fmt.Sprintf("%.2f%%", 100*tx)
		}
		t.row(p.Port, either(p.Up, "U", "D"), p.ReceiveFrames, receive, rxShare, none, p.DroppedFrames, none,
			p.TransmitFrames, transmit, txShare, none, none, none)
	}
	return sections(r.headline(), section{"", t})
}

// bytesPerSecond writes a rate as SONiC does: a unit counts from ten of it on, and MB is the largest.
func bytesPerSecond(bits float64) string {
	for _, unit := range units[2:] {
		if size := float64(unit.size); bits/8 > 10*size {
			return fmt.Sprintf("%.2f %sB/s", bits/8/size, strings.ToUpper(unit.name))
		}
	}
	return fmt.Sprintf("%.2f B/s", bits/8)
}

// status lists ports as "show interfaces status" does. A port has no lanes and no FEC of its own, its alias is the
// interface of Linux, and each is a member of VLANs, which SONiC calls a trunk.
func (r *Ports) status() string {
	t := newTable("Interface", "Lanes", ">Speed", ">MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC")
	for _, p := range r.Ports {
		t.row(p.Port, none, optional(p.SpeedBitsPerSecond, Rate), optional(p.MTUBytes, strconv.Itoa), none,
			p.Interface, "trunk", either(p.Up, "up", "down"), "up", p.Kind, either(p.Asymmetric, "on", "off"))
	}
	return sections(r.headline(), section{"", t})
}

// counters lists queues as "show queue counters" does. Bytes are not counted by queue.
func (r *Queues) counters() string {
	t := newTable("Port", "TxQ", ">Counter/pkts", ">Counter/bytes", ">Drop/pkts", ">Drop/bytes")
	for _, p := range r.Ports {
		for _, q := range p.Queues {
			t.row(p.Port, "UC"+strconv.Itoa(q.Queue), q.Transmitted, none, q.Dropped, none)
		}
	}
	return sections(r.headline(), section{"", t})
}

// stats lists queues as "show pfcwd stats" does. Frames that arrive for a stormed queue are among those of TX.
func (r *Watchdog) stats() string {
	t := newTable("QUEUE", "STATUS", ">STORM DETECTED/RESTORED", ">TX OK/DROP", ">RX OK/DROP", ">TX LAST OK/DROP",
		">RX LAST OK/DROP")
	pair := func(a, b uint64) string { return fmt.Sprintf("%d/%d", a, b) }
	for _, q := range r.Queues {
		if q.State != watchdogOff {
			t.row(fmt.Sprintf("%s:%v", q.Port, q.Priority), q.State, pair(q.Detected, q.Restored),
				pair(q.Sent, q.Dropped), none, pair(q.LastSent, q.LastDropped), none)
		}
	}
	return sections(r.headline(), section{"", t})
}

// config lists ports as "show pfcwd config" does, with times in ms.
func (r *Watchdog) config() string {
	t := newTable("PORT", "ACTION", ">DETECTION TIME", ">RESTORATION TIME")
	ms := func(ns int64) string { return strconv.FormatInt(ns/int64(time.Millisecond), 10) }
	last := ""
	for _, q := range r.Queues {
		if q.State != watchdogOff && q.Port != last { // all queues of a port have one configuration
			t.row(q.Port, q.Action, ms(q.Detection), ms(q.Restoration))
			last = q.Port
		}
	}
	return sections(r.headline(), section{"", t})
}

// table lists neighbors as "show lldp table" does.
func (r *LLDP) table() string {
	t := newTable("LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr")
	entries := 0
	for _, p := range r.Ports {
		for _, n := range p.Neighbors {
			entries++
			t.row(p.Port, n.SystemName, n.PortID, capabilities(n.EnabledCapabilities), n.PortDescription)
		}
	}
	return sections(r.headline(), section{"Capability codes: (R) Router, (B) Bridge, (O) Other", t}) +
		fmt.Sprintf("Total entries displayed: %d\n", entries)
}

// capabilities are the letters of SONiC's table.
func capabilities(names []string) string {
	codes := ""
	for _, code := range []string{"router", "bridge"} {
		if slices.Contains(names, code) {
			codes += strings.ToUpper(code[:1])
		}
	}
	if len(names) > len(codes) {
		codes += "O"
	}
	return codes
}

// neighbors tells of each neighbor in lines, as "show lldp neighbors" does.
func (r *LLDP) neighbors() string {
	s := r.headline() + "\n"
	for _, p := range r.Ports {
		for _, n := range p.Neighbors {
			s += fmt.Sprintf("Interface: %s, via: LLDP, age: %s\n", p.Port, clock(n.AgeNs))
			for _, line := range []struct{ name, text string }{
				{"ChassisID", n.ChassisID}, {"SysName", optionalText(n.SystemName)},
				{"SysDescr", optionalText(n.SystemDescription)}, {"TTL", strconv.Itoa(n.TTLSeconds)},
				{"MgmtIP", strings.Join(n.ManagementAddresses, " ")},
				{"Capability", strings.Join(n.EnabledCapabilities, ", ")}, {"PortID", n.PortID},
				{"PortDescr", optionalText(n.PortDescription)},
			} {
				s += fmt.Sprintf("  %-12s%s\n", line.name+":", line.text)
			}
		}
	}
	if s == r.headline()+"\n" {
		return s + "no neighbour has been heard\n"
	}
	return s
}
