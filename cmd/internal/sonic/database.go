package sonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Place is a field of a table, or, where Field or Key are empty, a whole key or table.
type Place struct{ Table, Key, Field string }

// String returns "table|key|field", as Redis names keys.
func (p Place) String() string {
	text := p.Table
	for _, part := range []string{p.Key, p.Field} {
		if part != "" {
			text += "|" + part
		}
	}
	return printable(text)
}

// contains tells whether other is p, or a part of it.
func (p Place) contains(other Place) bool {
	return p.Table == other.Table && (p.Key == "" || p.Key == other.Key && (p.Field == "" || p.Field == other.Field))
}

// A database has the tables of a config_db.json, in the order of the file.
type database struct{ tables []*table }

type table struct {
	name string
	rows []*row
}

// A row is the value of a key.
type row struct {
	at     Place
	fields []*field
	read   bool // the key is mapped or listed
}

// A field has a text or a list. A number, true and null are texts too.
type field struct {
	at   Place
	text string
	list []string
	read bool // it is mapped or listed
}

// table returns a table, an empty one where the file has none.
func (d *database) table(name string) *table {
	for _, t := range d.tables {
		if t.name == name {
			return t
		}
	}
	return &table{name: name}
}

// row returns the value of a key, nil where there is none.
func (t *table) row(key string) *row {
	for _, r := range t.rows {
		if r.at.Key == key {
			return r
		}
	}
	return nil
}

// get returns a field and counts it as read, nil where there is none.
func (r *row) get(name string) *field {
	if r == nil {
		return nil
	}
	for _, f := range r.fields {
		if f.at.Field == name {
			f.read = true
			return f
		}
	}
	return nil
}

// readDatabase reads the JSON text. A table may also stand as Redis has it: "table|key": {fields}. What another table
// has is skipped: Redis has single texts too, such as CONFIG_DB_INITIALIZED, and redis-dump puts type and ttl beside
// them.
func readDatabase(data []byte) (*database, error) {
	p := &decoder{json.NewDecoder(bytes.NewReader(data))}
	p.UseNumber()
	d := &database{}
	err := p.members(Place{}, func(name string) error {
		table, key, flat := strings.Cut(name, "|")
		t := d.add(table)
		if flat && slices.Contains(tables, table) {
			return p.row(t, key)
		}
		return p.members(Place{Table: table}, func(key string) error {
			if !slices.Contains(tables, table) {
				return p.Decode(new(json.RawMessage))
			}
			return p.row(t, key)
		})
	})
	if err == nil {
		if _, more := p.Token(); more != io.EOF {
			err = errors.New("something stands behind the last brace: remove it")
		}
	}
	var at *fault
	if err != nil && !errors.As(err, &at) {
		line := 1 + bytes.Count(data[:p.InputOffset()], []byte("\n"))
		return nil, fmt.Errorf("line %d: %w: write JSON as \"config save\" does", line, err)
	}
	return d, err
}

func (d *database) add(name string) *table {
	t := d.table(name)
	if !slices.Contains(d.tables, t) {
		d.tables = append(d.tables, t)
	}
	return t
}

type decoder struct{ *json.Decoder }

// members calls value for the name of every member of an object, to read its value.
func (p *decoder) members(at Place, value func(name string) error) error {
	token, err := p.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return &fault{at, "want an object of the form {\"name\": …}: write table, key and fields as \"config save\" " +
			"does"}
	}
	return p.opened(at, value)
}

// opened does so behind the brace that opens the object.
func (p *decoder) opened(at Place, value func(name string) error) error {
	seen := map[string]bool{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return err
		}
		name := token.(string)
		if seen[name] {
			return &fault{at, fmt.Sprintf("%q stands twice: keep one", name)}
		}
		seen[name] = true
		if err := value(name); err != nil {
			return err
		}
	}
	_, err := p.Token()
	return err
}

// row reads the fields of a key. The program redis-dump puts them into an object named value, beside what is Redis's
// own: type, ttl and expireat.
func (p *decoder) row(t *table, key string) error {
	at := Place{t.name, key, ""}
	if t.row(key) != nil {
		return &fault{at, "stands twice: keep one"}
	}
	r := &row{at: at}
	t.rows = append(t.rows, r)
	var dumped *row
	err := p.members(at, func(name string) error {
		token, err := p.Token()
		if name == "value" && token == json.Delim('{') {
			dumped = &row{at: at}
			return p.opened(at, func(name string) error {
				token, err := p.Token()
				return p.field(dumped, name, token, err)
			})
		}
		return p.field(r, name, token, err)
	})
	if dumped == nil || err != nil {
		return err
	}
	for _, f := range r.fields {
		if !slices.Contains([]string{"type", "ttl", "expireat"}, f.at.Field) {
			return &fault{f.at, "stands beside the fields that are in value: move it there"}
		}
	}
	r.fields = dumped.fields
	return nil
}

// field reads the value of a field, of which token is the first. NULL stands for no field, a name with @ for a list.
func (p *decoder) field(r *row, name string, token json.Token, err error) error {
	text, list, err := p.value(Place{r.at.Table, r.at.Key, name}, token, err)
	if err != nil || name == "NULL" {
		return err
	}
	name, listed := strings.CutSuffix(name, "@")
	if listed {
		list = strings.Split(text, ",")
	}
	r.fields = append(r.fields, &field{at: Place{r.at.Table, r.at.Key, name}, text: text, list: list})
	return nil
}

// value reads a single value, or a list of them, whose text is joined by commas.
func (p *decoder) value(at Place, token json.Token, err error) (string, []string, error) {
	if token != json.Delim('[') {
		text, err := scalar(at, token, err)
		return text, nil, err
	}
	list := []string{}
	for p.More() {
		token, err := p.Token()
		text, err := scalar(at, token, err)
		if err != nil {
			return "", nil, err
		}
		list = append(list, text)
	}
	_, err = p.Token()
	return strings.Join(list, ","), list, err
}

func scalar(at Place, token json.Token, err error) (string, error) {
	switch _, nested := token.(json.Delim); {
	case err != nil:
		return "", err
	case nested:
		return "", &fault{at, "want a text or a list of texts: CONFIG_DB has nothing deeper"}
	case token == nil:
		return "", nil
	}
	return fmt.Sprint(token), nil
}
