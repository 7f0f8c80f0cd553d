package sonic

import (
	"fmt"
	"strconv"
	"strings"
)

// shared returns the key of a map's table that the first port with such a map names. A switch has one of each: what
// other ports name instead is left.
func (im *importer) shared(name, table string) *row {
	var first *field
	var by *port
	for _, p := range im.ports {
		f := p.maps[name]
		switch {
		case f == nil:
		case first == nil:
			first, by = f, p
			f.read = true
		case f.text != first.text:
			p.mapped(name)
			im.leave(f.at, "a switch has one such map, here the one of %s", by.name)
		default:
			f.read = true
		}
	}
	return im.referred(first, table)
}

// pairs calls use for the fields of a map: two numbers, from 0 to the given most and from 0 to 7.
func (im *importer) pairs(r *row, most uint64, use func(from, to int, f *field)) {
	if r == nil {
		return
	}
	for _, f := range r.fields {
		r.get(f.at.Field)
		from, err := strconv.ParseUint(f.at.Field, 10, 8)
		if err != nil || from > most {
			im.fail(f.at, "%q is out of range: write 0 to %d", f.at.Field, most)
			continue
		}
		if to, ok := im.number(f, 0, 7); ok {
			use(int(from), int(to), f)
		}
	}
}

// readClasses reads the maps. Here a frame's priority is the number of its class, its queue and its priority group:
// that of the queue counts.
func (im *importer) readClasses() {
	used := [8]bool{}
	im.queues = [8]int{0, 1, 2, 3, 4, 5, 6, 7}
	queues := map[int]*field{}
	im.pairs(im.shared("tc_to_queue_map", "TC_TO_QUEUE_MAP"), 7, func(class, queue int, f *field) {
		im.queues[class], queues[class] = queue, f
	})
	dscp := im.shared("dscp_to_tc_map", "DSCP_TO_TC_MAP")
	if dscp != nil {
		im.readDSCP(dscp, &used)
	}
	im.pairs(im.shared("dot1p_to_tc_map", "DOT1P_TO_TC_MAP"), 7, func(pcp, class int, f *field) {
		if im.queues[class] != pcp {
			im.leave(f.at, "the priority of a frame is its PCP itself")
		}
	})
	for class, f := range queues {
		if im.queues[class] != class && !used[class] {
			im.leave(f.at, "no DSCP has this class")
		}
	}
	im.readTrust(dscp != nil)
	im.pairs(im.shared("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"), 7, func(class, group int, f *field) {
		switch queue := im.queues[class]; {
		case group == queue:
		case im.lossless>>queue&1 == 1:
			im.leave(f.at, "frames of queue %d are counted in the priority group of the same number", queue)
		default:
			im.leave(f.at, "a lossy frame is counted where it leaves, and belongs to no priority group")
		}
	})
	im.pairs(im.shared("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"), 7, func(priority, queue int, f *field) {
		if priority != queue {
			im.leave(f.at, "PFC of a priority pauses the queue of the same number")
		}
	})
}

// readDSCP writes the priority of every DSCP. A DSCP that the map leaves out has class 0.
func (im *importer) readDSCP(r *row, used *[8]bool) {
	var of [64]int
	for dscp := range of {
		of[dscp] = im.queues[0]
	}
	im.pairs(r, 63, func(dscp, class int, f *field) { of[dscp], used[class] = im.queues[class], true })
	var lines []string
	for first := 0; first < len(of); first += 8 {
		var line []string
		for dscp := first; dscp < first+8; dscp++ {
			line = append(line, fmt.Sprintf("%d: %d", dscp, of[dscp]))
		}
		lines = append(lines, strings.Join(line, ", "))
	}
	im.set(r.at, "{\n    "+strings.Join(lines, ",\n    ")+"\n  }", "priorities", "dscp")
}

// readTrust writes what the priority of a frame follows. Without a map every frame has class 0.
func (im *importer) readTrust(dscp bool) {
	trust := func(p *port) string {
		switch {
		case p.maps["dscp_to_tc_map"] != nil:
			return "dscp"
		case p.maps["dot1p_to_tc_map"] != nil:
			return "pcp"
		}
		return "port"
	}
	usual := "port"
	if len(im.ports) > 0 {
		usual = trust(im.ports[0])
	}
	if dscp {
		usual = "dscp"
	}
	im.set(Place{Table: "PORT_QOS_MAP"}, usual, "priorities", "trust")
	for _, p := range im.ports {
		if t := trust(p); t != usual {
			im.set(p.at.at, t, "ports", p.name, "trust")
		}
	}
}

// readQueues reads the queues and what serves and marks them. A switch has the same queues at every port, here those of
// the first port that has such a queue.
func (im *importer) readQueues() {
	var first [8]*row
	var by [8]*port
	rows := map[*port]*[8]*row{}
	im.each("QUEUE", true, func(p *port, queue int, r *row) {
		if rows[p] == nil {
			rows[p] = &[8]*row{}
		}
		rows[p][queue] = r
	})
	for _, p := range im.ports {
		for queue := range first {
			r := rows[p]
			if r == nil || r[queue] == nil {
				continue
			}
			if first[queue] == nil {
				first[queue], by[queue] = r[queue], p
			}
			for _, name := range []string{"scheduler", "wred_profile"} {
				f, usual := r[queue].get(name), first[queue].get(name)
				if f != nil && (usual == nil || usual.text != f.text) {
					im.leave(f.at, "a switch has one queue %d, here as at %s", queue, by[queue].name)
				}
			}
		}
	}
	for queue, r := range first {
		if r != nil {
			im.readScheduler(queue, im.referred(r.get("scheduler"), "SCHEDULER"))
			im.readMarking(queue, im.referred(r.get("wred_profile"), "WRED_PROFILE"))
		}
	}
}

func (im *importer) readScheduler(queue int, r *row) {
	kind, weight := r.get("type"), r.get("weight")
	path := []string{"queues", strconv.Itoa(queue)}
	switch {
	case kind == nil:
	case kind.text == "STRICT":
		im.root.flow(path...)
		im.set(kind.at, "on", append(path, "strict")...)
		if weight != nil {
			im.leave(weight.at, "a strict queue has no weight")
		}
	case kind.text == "DWRR" || kind.text == "WRR":
		if kind.text == "WRR" {
			im.leave(kind.at, "queues with weights are served by bytes, as DWRR does")
		}
		if n, ok := im.number(weight, 1, most); ok {
			im.root.flow(path...)
			im.set(weight.at, fmt.Sprint(n), append(path, "weight")...)
		}
	default:
		im.fail(kind.at, "%q is no way to serve a queue: write STRICT, WRR or DWRR", kind.text)
	}
}

// marks tells for the values of ecn whether the green curve marks frames.
var marks = map[string]bool{
	"ecn_none": false, "ecn_green": true, "ecn_yellow": false, "ecn_red": false, "ecn_green_yellow": true,
	"ecn_green_red": true, "ecn_yellow_red": false, "ecn_all": true,
}

// readMarking reads the green curve of a profile that marks. Every frame here is green.
func (im *importer) readMarking(queue int, r *row) {
	if r == nil {
		return
	}
	ecn, enable := r.get("ecn"), r.get("wred_green_enable")
	least, full, probability := r.get("green_min_threshold"), r.get("green_max_threshold"),
		r.get("green_drop_probability")
	for _, f := range []*field{ecn, enable} {
		if f == nil {
			continue
		}
		if _, ok := marks[f.text]; !ok && f.text != "true" && f.text != "false" {
			im.fail(f.at, "%q is not known: write ecn_all or ecn_none, and to enable a curve true or false", f.text)
			return
		}
	}
	if ecn == nil || !marks[ecn.text] || enable != nil && enable.text == "false" {
		im.leaveRow(r, "the green curve does not mark, and a lossy queue drops at its threshold alone")
		return
	}
	if least == nil || full == nil {
		im.fail(r.at, "marking needs green_min_threshold and green_max_threshold: write both")
		return
	}
	path := []string{"ecn", strconv.Itoa(queue)}
	im.root.flow(path...)
	im.from[strings.Join(path, ".")] = r.at
	for _, size := range []struct {
		key string
		f   *field
	}{{"kmin", least}, {"kmax", full}} {
		if n, ok := im.number(size.f, 0, most); ok {
			im.set(size.f.at, fmt.Sprintf("%dB", n), append(path, size.key)...)
		}
	}
	at, percent := r.at, int64(100)
	if n, ok := im.number(probability, 0, 100); ok {
		at, percent = probability.at, n
	}
	im.set(at, fmt.Sprintf("%d%%", percent), append(path, "pmax")...)
}
