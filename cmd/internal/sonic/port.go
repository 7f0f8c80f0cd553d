package sonic

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A port is one key of PORT that is not down.
type port struct {
	name     string
	at       *row
	maps     map[string]*field // fields of PORT_QOS_MAP, its own or those of "global"
	lossless uint8             // by pfc_enable; bit n: priority n
}

// linuxName is a name that both an interface and a port of ours can have.
var linuxName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)

func (im *importer) readPorts() {
	rows := slices.Clone(im.db.table("PORT").rows)
	slices.SortStableFunc(rows, func(a, b *row) int { // Ethernet8 comes before Ethernet12
		return cmp.Or(len(a.at.Key)-len(b.at.Key), strings.Compare(a.at.Key, b.at.Key))
	})
	for _, r := range rows {
		name := r.at.Key
		r.read = true
		switch status := r.get("admin_status"); {
		case !linuxName.MatchString(name):
			im.fail(r.at, "the key cannot name a Linux interface: write 1 to 15 letters, digits, '.', '_' or '-'")
		case status == nil || status.text == "down":
			im.down[name] = true
			im.leaveRow(r, "the port is left out, as its admin_status is not up")
		case status.text != "up":
			im.fail(status.at, "%q is neither up nor down: write one of them", status.text)
		default:
			im.ports = append(im.ports, &port{name: name, at: r, maps: map[string]*field{}})
			im.readPort(r)
		}
	}
	if len(im.ports) == 0 {
		im.fail(Place{Table: "PORT"}, "there is no port that is up: add one, or write admin_status up at one")
	}
}

// defaultMTU is what SONiC gives a port without one.
const defaultMTU = "9100"

func (im *importer) readPort(r *row) {
	name := r.at.Key
	im.set(r.at, "", "ports", name)
	if f := r.get("speed"); f != nil {
		if mbits, ok := im.number(f, 1, most/1_000_000); ok {
			speed := fmt.Sprintf("%dM", mbits)
			if mbits%1000 == 0 {
				speed = fmt.Sprintf("%dG", mbits/1000)
			}
			im.set(f.at, speed, "ports", name, "speed")
		}
	}
	if f := r.get("mtu"); f == nil {
		im.set(r.at, defaultMTU, "ports", name, "mtu")
	} else if n, ok := im.number(f, 1, most); ok {
		im.set(f.at, strconv.FormatInt(n, 10), "ports", name, "mtu")
	}
	if f := r.get("tpid"); f != nil && f.text != "0x8100" {
		im.leave(f.at, "a VLAN tag has the EtherType 0x8100")
	}
}

// readPortMaps reads PORT_QOS_MAP. The key "global" counts where a port says nothing.
func (im *importer) readPortMaps() {
	t := im.db.table("PORT_QOS_MAP")
	im.each(t.name, false, func(p *port, _ int, r *row) {
		for _, f := range r.fields {
			p.maps[f.at.Field] = f
		}
	})
	global := t.row("global")
	if global == nil {
		return
	}
	for _, f := range global.fields {
		for _, p := range im.ports {
			p.maps[f.at.Field] = cmp.Or(p.maps[f.at.Field], f)
		}
	}
}

// mapped returns a field of PORT_QOS_MAP and counts it as read.
func (p *port) mapped(name string) *field {
	f := p.maps[name]
	if f != nil {
		f.read = true
	}
	return f
}

// readLossless reads which priorities have PFC. A switch has the same at all ports that have any.
func (im *importer) readLossless() {
	var first *field
	for _, p := range im.ports {
		f := p.mapped("pfc_enable")
		p.lossless = im.priorities(f)
		if im.lossless |= p.lossless; p.lossless != 0 {
			first = cmp.Or(first, f)
		}
	}
	if im.lossless != 0 {
		im.set(first.at, list(digits(im.lossless)), "priorities", "lossless")
	}
	for _, p := range im.ports {
		if p.lossless == 0 && im.lossless != 0 {
			im.set(p.at.at, "off", "ports", p.name, "flow_control")
		} else if p.lossless != im.lossless {
			im.leave(p.maps["pfc_enable"].at, "a switch has one set of lossless priorities, here %s, at every port "+
				"that has any", strings.Join(digits(im.lossless), ","))
		}
		im.readAsymmetric(p)
		if f := p.mapped("pfcwd_sw_enable"); f != nil && im.priorities(f) != p.lossless {
			im.leave(f.at, "the watchdog of a port looks at all lossless queues, those of pfc_enable")
		}
	}
}

// readAsymmetric reads whether a port obeys PFC of all priorities.
func (im *importer) readAsymmetric(p *port) {
	switch f := p.at.get("pfc_asym"); {
	case f == nil || f.text == "off":
	case f.text != "on":
		im.fail(f.at, "%q is neither on nor off: write one of them", f.text)
	case p.lossless == 0 && im.lossless != 0:
		im.leave(f.at, "the port has no lossless priority, and so no PFC")
	default:
		im.set(f.at, "on", "ports", p.name, "asymmetric")
	}
}

// priorities reads a list such as "3,4".
func (im *importer) priorities(f *field) (set uint8) {
	if f == nil || f.text == "" {
		return 0
	}
	for text := range strings.SplitSeq(f.text, ",") {
		n, err := strconv.ParseUint(text, 10, 3)
		if err != nil {
			im.fail(f.at, "%q is no list of priorities: write some of 0 to 7, such as 3,4", f.text)
			return 0
		}
		set |= 1 << n
	}
	return set
}

// digits are the numbers of the bits in a set.
func digits(set uint8) (all []string) {
	for n := range 8 {
		if set>>n&1 == 1 {
			all = append(all, strconv.Itoa(n))
		}
	}
	return all
}

var metres = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?m$`)

// readCables reads the lengths in CABLE_LENGTH, whose fields are ports.
func (im *importer) readCables() {
	done := map[string]Place{}
	for _, r := range im.db.table("CABLE_LENGTH").rows {
		for _, f := range r.fields {
			name := f.at.Field
			r.get(name)
			known := slices.ContainsFunc(im.ports, func(p *port) bool { return p.name == name })
			switch other, twice := done[name]; {
			case !metres.MatchString(f.text):
				im.fail(f.at, "%q is no length: write metres, such as 40m", f.text)
			case !known:
				im.leave(f.at, "no port of this name is up")
			case twice:
				im.leave(f.at, "%s counts", other)
			default:
				done[name] = f.at
				im.set(f.at, f.text, "ports", name, "cable")
			}
		}
	}
}

// readWatchdogs reads PFC_WD: the poll of all ports in GLOBAL, and the times of each.
func (im *importer) readWatchdogs() {
	t := im.db.table("PFC_WD")
	im.each(t.name, false, func(p *port, _ int, r *row) {
		im.root.flow("ports", p.name, "watchdog")
		im.from["ports."+p.name+".watchdog"] = r.at
		im.set(r.at, "sonic", "ports", p.name, "watchdog", "mode")
		for _, time := range []struct {
			key string
			f   *field
		}{
			{"poll", t.row("GLOBAL").get("POLL_INTERVAL")},
			{"detection", r.get("detection_time")},
			{"restoration", r.get("restoration_time")},
		} {
			if ms, ok := im.number(time.f, 1, most); ok {
				im.set(time.f.at, fmt.Sprintf("%dms", ms), "ports", p.name, "watchdog", time.key)
			}
		}
		switch f := r.get("action"); {
		case f == nil:
		case !slices.Contains([]string{"drop", "forward", "alert"}, f.text):
			im.fail(f.at, "%q is no action: write drop, forward or alert", f.text)
		default:
			im.set(f.at, f.text, "ports", p.name, "watchdog", "action")
		}
	})
}
