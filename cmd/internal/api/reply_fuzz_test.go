package api

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"regexp"
	"slices"
	"testing"
)

// numerals are numbers other than 0.
var numerals = regexp.MustCompile("[1-9][0-9]*")

// shortPiece is the length of a list or an object that stays with the single values beside it.
const shortPiece = 200

// pieces splits a document into small ones, which together have all its values. The fuzzer reads them, and mutates what
// matters in them, many times as fast as the whole.
func pieces(f *testing.F, v any) (all []any) {
	switch v := v.(type) {
	case []any:
		for _, entry := range v {
			for _, p := range pieces(f, entry) {
				all = append(all, []any{p})
			}
		}
	case map[string]any:
		own := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			part := v[name]
			if text := assert.Got(json.Marshal(part)).Must(f); len(text) <= shortPiece || text[0] == '"' {
				own[name] = part
				continue
			}
			for _, p := range pieces(f, part) {
				all = append(all, map[string]any{name: p})
			}
		}
		all = append(all, own)
	default:
		all = append(all, v)
	}
	return all
}

// Every answer is refused, or has a text and can be written and read again.
func FuzzParseReply(f *testing.F) {
	names := Nouns()
	for i, name := range names {
		good, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		assert.Must(f, err)
		_, err = Parse(name, good)
		assert.MustNoError(f, err, "%s", name)
		var document map[string]any
		assert.Must(f, json.Unmarshal(good, &document))
		kinds := map[string]bool{}
		for _, piece := range pieces(f, document) {
			whole := piece.(map[string]any)
			whole["schema"] = Schema
			text := assert.Got(json.Marshal(whole)).Must(f)
			if kind := numerals.ReplaceAllString(string(text), "1"); !kinds[kind] {
				kinds[kind] = true
				f.Add(uint8(i), text)
			}
		}
	}
	for _, found := range []struct{ name, noun, text string }{
		{"a port without queues", "buffer", `{"schema":1,"ports":[{"port":"p1"}]}`},
		{"a ring beside a queue", "buffer", `{"schema":1,"ports":[{"ingress_queues":[{}],"ring":{}}]}`},
		{"a queue without segments", "buffer", `{"schema":1,"ports":[{"ingress_queues":[{}]}]}`},
		{"a learned station without age", "fdb", `{"schema":1,"entries":[{}]}`},
	} {
		f.Add(uint8(slices.Index(names, found.noun)), []byte(found.text))
	}
	f.Fuzz(func(t *testing.T, noun uint8, b []byte) {
		name := names[int(noun)%len(names)]
		r, err := Parse(name, b)
		if err != nil {
			return
		}
		_ = r.Text()
		text := assert.Got(json.Marshal(r)).Must(t)
		_, err = Parse(name, text)
		assert.True(t, err == nil, "%s cannot be read again: %v\n%s", name, err, text)
	})
}
