package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Every answer is refused, or has a text and can be written and read again.
func FuzzParseReply(f *testing.F) {
	for i, name := range Nouns() {
		good, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		must(f, err)
		if _, err := Parse(name, good); err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		f.Add(uint8(i), good)
	}
	f.Add(uint8(0), []byte(`{"schema":1,"ports":[{"port":"p1"}]}`))
	f.Fuzz(func(t *testing.T, noun uint8, b []byte) {
		name := Nouns()[int(noun)%len(nouns)]
		r, err := Parse(name, b)
		if err != nil {
			return
		}
		_ = r.Text()
		text, err := json.Marshal(r)
		must(t, err)
		if _, err := Parse(name, text); err != nil {
			t.Errorf("%s cannot be read again: %v\n%s", name, err, text)
		}
	})
}
