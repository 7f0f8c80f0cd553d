package sonic

import (
	"fmt"
	"math"
	"strconv"
)

// readGroups reads the priority groups of lossless priorities, and the pool that their profiles name.
func (im *importer) readGroups() {
	profiles := map[*port]*[8]*row{}
	im.each("BUFFER_PG", true, func(p *port, group int, r *row) {
		f := r.get("profile")
		if p.lossless>>group&1 == 0 {
			im.leaveRow(r, "a frame of a priority without PFC is counted where it leaves, and belongs to no priority "+
				"group")
			return
		}
		if profiles[p] == nil {
			profiles[p] = &[8]*row{}
		}
		profiles[p][group] = im.referred(f, "BUFFER_PROFILE")
	})
	im.readPool(profiles)
	for _, p := range im.ports {
		for group := range 8 {
			if all := profiles[p]; all != nil && all[group] != nil {
				im.readGroup(p, strconv.Itoa(group), all[group])
			}
		}
	}
	im.readDefaults()
}

// readPool reads the pool of the lossless profiles, in the usual case ingress_lossless_pool.
func (im *importer) readPool(profiles map[*port]*[8]*row) {
	t := im.db.table("BUFFER_POOL")
	im.pool = t.row("ingress_lossless_pool")
	fixed, found := true, false
	for _, p := range im.ports {
		for group := range 8 {
			if p.lossless>>group&1 == 0 {
				continue
			}
			var r *row
			if profiles[p] != nil {
				r = profiles[p][group]
			}
			fixed = fixed && r.get("static_th") != nil
			pool := im.referred(r.get("pool"), t.name)
			switch {
			case pool == nil:
			case !found:
				im.pool, found = pool, true
			case pool != im.pool:
				im.leave(r.get("pool").at, "all lossless frames are counted in one pool, here %s", im.pool.at.Key)
			}
		}
	}
	if im.pool == nil {
		return
	}
	switch mode := im.pool.get("mode"); {
	case mode == nil || mode.text == "dynamic":
	case mode.text != "static":
		im.fail(mode.at, "%q is no mode: write dynamic or static", mode.text)
	case !fixed || im.lossless == 0:
		im.leave(mode.at, "not every lossless priority group has a profile with static_th: thresholds are dynamic")
	default:
		im.static = true
		im.set(mode.at, "static", "buffer", "policy")
	}
	if kind := im.pool.get("type"); kind != nil && kind.text != "ingress" {
		im.leave(kind.at, "lossless frames are counted where they arrive")
	}
	if n, ok := im.number(im.pool.get("xoff"), 0, most); ok && n > 0 {
		im.root.flow("buffer", "headroom_pool")
		im.set(im.pool.get("xoff").at, fmt.Sprintf("%dB", n), "buffer", "headroom_pool", "size")
	}
}

// readGroup writes a port's priority as its profile has it. Its size is what is reserved for the group: in some
// devices' files the headroom too.
func (im *importer) readGroup(p *port, priority string, r *row) {
	path := []string{"ports", p.name, "priorities", priority}
	set := func(key string, f *field, value int64) {
		im.root.flow(path...)
		im.set(f.at, fmt.Sprintf("%dB", value), append(path, key)...)
	}
	xoff, _ := im.number(r.get("xoff"), 0, most)
	xon, resumes := im.number(r.get("xon"), 0, most)
	if f := r.get("size"); f != nil {
		if size, ok := im.number(f, 0, most); ok {
			if size >= xoff+xon {
				size -= xoff
			}
			set("private", f, size)
		}
	}
	if f := r.get("xoff"); f != nil {
		set("headroom", f, xoff)
	}
	if resumes {
		set("xon", r.get("xon"), xon)
	}
	if offset, ok := im.number(r.get("xon_offset"), 0, most); ok {
		set("xon_offset", r.get("xon_offset"), offset)
	}
	fixed, ok := im.number(r.get("static_th"), 0, most)
	switch {
	case ok && im.static:
		set("xoff", r.get("static_th"), fixed)
	case ok:
		im.leave(r.get("static_th").at, "the thresholds of the pool are dynamic")
	}
	if f := r.get("dynamic_th"); f != nil && im.static {
		im.leave(f.at, "the thresholds of the pool are static")
	} else if text, ok := im.alpha(f); ok {
		im.root.flow(path...)
		im.set(f.at, text, append(path, "alpha")...)
	}
	if f := r.get("headroom_type"); f != nil && f.text != "dynamic" {
		im.fail(f.at, "%q is not known: write dynamic, or remove the field", f.text)
	}
}

// alpha writes the factor that an exponent stands for.
func (im *importer) alpha(f *field) (string, bool) {
	if f == nil {
		return "", false
	}
	n, ok := im.number(f, -10, 10)
	return strconv.FormatFloat(math.Pow(2, float64(n)), 'f', -1, 64), ok
}

// readDefaults reads what holds for headroom that SONiC calculates.
func (im *importer) readDefaults() {
	if r := im.only("DEFAULT_LOSSLESS_BUFFER_PARAMETER"); r != nil {
		if f := r.get("default_dynamic_th"); f != nil {
			if text, ok := im.alpha(f); ok {
				im.set(f.at, text, "buffer", "lossless", "alpha")
			}
		}
		switch f := r.get("over_subscribe_ratio"); {
		case f == nil:
		case im.pool.get("xoff") != nil && im.pool.get("xoff").text != "0":
			im.leave(f.at, "the pool has a size for all headrooms, in %s", im.pool.get("xoff").at)
		default:
			if n, ok := im.number(f, 0, most); ok && n > 0 {
				im.set(f.at, fmt.Sprint(n), "buffer", "headroom_pool", "ratio")
			}
		}
	}
	if r := im.only("LOSSLESS_TRAFFIC_PATTERN"); r != nil {
		if f := r.get("small_packet_percentage"); f != nil {
			if n, ok := im.number(f, 0, 100); ok {
				im.set(f.at, fmt.Sprintf("%d%%", n), "headroom", "small_packets")
			}
		}
	}
}

// only returns the first key of a table that has no more than one in use.
func (im *importer) only(name string) (first *row) {
	for i, r := range im.db.table(name).rows {
		if i == 0 {
			first = r
		} else {
			im.leaveRow(r, "%s counts", first.at)
		}
	}
	return first
}

// readLossy reads the pool and the threshold of lossy queues. A switch has one for all, here those of the first queue.
func (im *importer) readLossy() {
	var first *field
	im.each("BUFFER_QUEUE", true, func(p *port, queue int, r *row) {
		f := r.get("profile")
		switch {
		case f == nil:
		case p.lossless>>queue&1 == 1:
			im.leave(f.at, "lossless frames are counted where they arrive, and have no threshold where they leave")
		case first == nil:
			first = f
		case f.text != first.text:
			im.leave(f.at, "all lossy queues have one threshold, here that of %s", Place{r.at.Table, first.at.Key, ""})
		}
	})
	profile := im.referred(first, "BUFFER_PROFILE")
	pool := im.referred(profile.get("pool"), "BUFFER_POOL")
	if pool == nil || pool == im.pool {
		pool = im.db.table("BUFFER_POOL").row("egress_lossy_pool")
	}
	if f := profile.get("dynamic_th"); f != nil {
		if text, ok := im.alpha(f); ok {
			im.set(f.at, text, "buffer", "lossy", "alpha")
		}
	}
	if f := profile.get("size"); f != nil && f.text != "0" {
		im.leave(f.at, "a lossy queue has no bytes of its own")
	}
	if n, ok := im.number(pool.get("size"), 0, most); ok && n > 0 {
		im.set(pool.get("size").at, fmt.Sprintf("%dB", n), "buffer", "lossy", "size")
	}
	for _, is := range []struct{ field, value string }{{"mode", "dynamic"}, {"type", "egress"}} {
		if f := pool.get(is.field); f != nil && f.text != is.value {
			im.leave(f.at, "the pool of lossy queues is %s", is.value)
		}
	}
}
