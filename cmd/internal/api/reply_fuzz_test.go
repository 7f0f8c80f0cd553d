package api

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"slices"
	"testing"
)

// Every answer is refused, or has a text and can be written and read again.
func FuzzParseReply(f *testing.F) {
	names := Nouns()
	for i, name := range names {
		good, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		assert.Must(f, err)
		_, err = Parse(name, good)
		assert.MustNoError(f, err, "%s", name)
		var short bytes.Buffer // blanks are most of the file
		assert.Must(f, json.Compact(&short, good))
		f.Add(uint8(i), short.Bytes())
	}
	for _, found := range []struct{ name, noun, text string }{
		{"a port without queues", "buffer", `{"schema":1,"ports":[{"port":"p1"}]}`},
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
