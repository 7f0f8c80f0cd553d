package sonic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pfcswitch/cmd/internal/config"
)

// A fault is what makes a file useless at one place.
type fault struct {
	at   Place
	text string // the value, what is wrong with it, and what to do
}

// Error returns "table|key|field: text".
func (f *fault) Error() string {
	if f.at == (Place{}) {
		return f.text
	}
	return f.at.String() + ": " + f.text
}

// Imported is a configuration that package config accepts.
type Imported struct {
	YAML []byte // at its end, as comments, what is left
	Left []Left // in the order of the tables
}

// Import reads a config_db.json. The name stands for the file in messages. The error has every fault, one a line, as
// "file: table|key|field: what is wrong and what to do".
func Import(name string, data []byte) (*Imported, error) {
	db, err := readDatabase(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	im := &importer{db: db, from: map[string]Place{}, down: map[string]bool{}}
	for _, part := range []func(){im.readName, im.readPorts, im.readPortMaps, im.readLossless, im.readClasses,
		im.readQueues, im.readGroups, im.readLossy, im.readCables, im.readWatchdogs, im.readVLANs} {
		part()
	}
	if len(im.faults) == 0 {
		im.check()
	}
	im.leaveRest()
	if len(im.faults) > 0 {
		for i, f := range im.faults {
			im.faults[i] = fmt.Errorf("%s: %w", name, f)
		}
		return nil, errors.Join(im.faults...)
	}
	text := "# imported from a config_db.json of SONiC\n" + im.text()
	if len(im.left) > 0 {
		text += "\n# Without a counterpart here, by table|key|field:\n" + listed(im.left)
	}
	return &Imported{[]byte(text), im.left}, nil
}

// importer translates one file.
type importer struct {
	db       *database
	root     node
	from     map[string]Place // what a key of the configuration was made of
	left     []Left
	faults   []error
	ports    []*port         // by the numbers in their names
	down     map[string]bool // ports that are left out
	lossless uint8           // bit n: priority n, at some port
	queues   [8]int          // by traffic class
	static   bool            // policy: static
	pool     *row            // of lossless frames
}

// fail notes a fault, once.
func (im *importer) fail(at Place, format string, args ...any) {
	f := fault{at, fmt.Sprintf(format, args...)}
	if !slices.ContainsFunc(im.faults, func(other error) bool { return other.Error() == f.Error() }) {
		im.faults = append(im.faults, &f)
	}
}

// set writes a value of the configuration at a path, and notes the place that it was made of.
func (im *importer) set(at Place, value string, path ...string) {
	im.from[strings.Join(path, ".")] = at
	if path[0] == "ports" {
		path = slices.Clone(path)
		path[1] = config.Quote(path[1])
	}
	im.root.at(path...).value = value
}

// number returns a field as a whole number from least to most. A field that is nil or wrong is not ok.
func (im *importer) number(f *field, least, most int64) (n int64, ok bool) {
	if f == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(f.text, 10, 64)
	if err != nil || n < least || n > most {
		im.fail(f.at, "%q is no number from %d to %d: write one", f.text, least, most)
		return 0, false
	}
	return n, true
}

// most is above every number that a configuration may have.
const most = 1 << 50

// referred returns the row that a field names: "name", or in older files "[TABLE|name]". NULL names none.
func (im *importer) referred(f *field, table string) *row {
	if f == nil || f.text == "NULL" {
		return nil
	}
	name := f.text
	if inner, ok := strings.CutPrefix(name, "["); ok {
		named, key, _ := strings.Cut(strings.TrimSuffix(inner, "]"), "|")
		if name = key; named != table {
			im.fail(f.at, "%q refers to table %s: refer to a key of %s", f.text, named, table)
			return nil
		}
	}
	r := im.db.table(table).row(name)
	if r == nil {
		im.fail(f.at, "%s has no key %q: add it there, or name another", table, name)
	} else {
		r.read = true
	}
	return r
}

// readName takes the host's name.
func (im *importer) readName() {
	if f := im.db.table("DEVICE_METADATA").row("localhost").get("hostname"); f != nil {
		im.set(f.at, config.Quote(f.text), "name")
	}
}

// check has package config read the text. Its faults are told at the places that the keys were made of. The size of
// the lossless pool is set here: SONiC's is what queues share, and ours holds what they reserve too.
func (im *importer) check() {
	c := im.parse()
	if size := im.pool.get("size"); c != nil && size != nil {
		im.sizePool(c, size)
	}
}

func (im *importer) sizePool(c *config.Config, size *field) {
	for _, p := range im.ports {
		if p.at.get("speed") == nil {
			im.leave(size.at, "the headroom of %s, which the pool has to hold too, is not known before its speed is: "+
				"the size is auto", p.name)
			return
		}
	}
	shared, ok := im.number(size, 0, most)
	if ok && shared > 0 {
		reserved := c.Buffer.Lossless.Size - c.Shared()
		im.set(size.at, fmt.Sprintf("%dB", reserved+shared), "buffer", "lossless", "size")
		im.parse()
	}
}

// text is the configuration, the ports at its end.
func (im *importer) text() string {
	const order = "name buffer priorities queues ecn headroom ports"
	slices.SortStableFunc(im.root.nodes, func(a, b *node) int {
		return strings.Index(order, a.key) - strings.Index(order, b.key)
	})
	return im.root.text("")
}

func (im *importer) parse() *config.Config {
	c, _, err := config.Parse("", []byte(im.text()))
	var faults *config.Errors
	if errors.As(err, &faults) {
		for _, e := range faults.List {
			if at := im.origin(e.Key); at != (Place{}) {
				im.fail(at, "%s", e.Text)
				continue
			}
			im.fail(Place{Table: "PORT"}, "together the ports are too much for one switch: take some down, or lower "+
				"their speed or cable length (%s: %s)", e.Key, e.Text)
		}
	} else if err != nil {
		im.fail(Place{}, "%v", err)
	}
	return c
}

// origin is the place that a key, or the nearest key above it, was made of; none for what follows from all ports.
func (im *importer) origin(key string) Place {
	for key != "" {
		if at, ok := im.from[key]; ok {
			return at
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return Place{}
}

// each calls use for every port that the keys of a table name, such as "Ethernet0,Ethernet4", and where they are
// numbered, such as "Ethernet0|3-4", for every number.
func (im *importer) each(table string, numbered bool, use func(p *port, number int, r *row)) {
	seen := map[string]Place{}
	for _, r := range im.db.table(table).rows {
		if strings.EqualFold(r.at.Key, "global") { // it stands for all ports
			continue
		}
		key, elsewhere := im.onThisCard(r.at.Key)
		if numbered && elsewhere != "" {
			im.leaveRow(r, "%s", elsewhere)
			continue
		}
		names, span, found := strings.Cut(key, "|")
		first, last, ok := numbers(span)
		switch {
		case found != numbered || numbered && !ok:
			im.fail(r.at, "the key is not of the form %s: correct it", map[bool]string{true: "port|3 or port|3-4",
				false: "port"}[numbered])
			continue
		case last > 7:
			im.leaveRow(r, "a port has the queues and priority groups 0 to 7")
			last = 7
		}
		for name := range strings.SplitSeq(names, ",") {
			p := im.portOf(r, name)
			for n := first; p != nil && n <= last; n++ {
				id := name
				if numbered {
					id = fmt.Sprintf("%s|%d", name, n)
				}
				if other, twice := seen[id]; twice {
					im.fail(r.at, "%s stands in %s too: keep one", id, other)
					continue
				}
				seen[id] = r.at
				use(p, n, r)
			}
		}
	}
}

// onThisCard cuts host and ASIC off a key of a chassis, such as "card1|asic0|Ethernet0|3", and says why they are
// not those of DEVICE_METADATA: empty where they are. Other keys have neither, and are of this card.
func (im *importer) onThisCard(key string) (rest, elsewhere string) {
	parts := strings.SplitN(key, "|", 3)
	if len(parts) < 3 || !strings.Contains(parts[2], "|") {
		return key, ""
	}
	localhost := im.db.table("DEVICE_METADATA").row("localhost")
	for i, name := range []string{"hostname", "asic_name"} {
		switch f := localhost.get(name); {
		case f == nil:
			elsewhere = "DEVICE_METADATA does not say which card this is"
		case !strings.EqualFold(f.text, parts[i]):
			return key, "it is a queue of another card of the chassis"
		}
	}
	return parts[2], elsewhere
}

// numbers reads "3" or "3-4". Nothing is 0.
func numbers(span string) (first, last int, ok bool) {
	if span == "" {
		return 0, 0, false
	}
	from, to, ranged := strings.Cut(span, "-")
	first, err := strconv.Atoi(from)
	if last = first; ranged && err == nil {
		last, err = strconv.Atoi(to)
	}
	return first, last, err == nil && first >= 0 && first <= last
}

// portOf returns the port of a name in a key, nil where there is none.
func (im *importer) portOf(r *row, name string) *port {
	i := slices.IndexFunc(im.ports, func(p *port) bool { return p.name == name })
	switch {
	case i >= 0:
		r.read = true
		return im.ports[i]
	case im.down[name]:
		im.leaveRow(r, "%s is left out, as its admin_status is not up", name)
	case strings.HasPrefix(name, "Ethernet"):
		im.fail(r.at, "PORT has no %q: add it there, or name another", name)
	case strings.HasPrefix(name, "PortChannel"):
		im.leaveRow(r, "the switch has no link aggregation")
	default:
		im.leaveRow(r, "%s is no port of PORT", cmp.Or(printable(name), "the empty name"))
	}
	return nil
}
