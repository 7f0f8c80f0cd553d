package readme

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
)

const root = "../../.."

// read returns the blocks of the README.
func read(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := blocks(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every configuration of the README loads, and no block is of a kind that nobody knows.
func TestConfigurations(t *testing.T) {
	for _, b := range read(t) {
		switch b.kind() {
		case "yaml":
			checkYAML(t, &b)
		case "sh", "console", "text", "svg":
		default:
			t.Errorf("README.md:%d: a block of kind %q: write sh, console, yaml or text behind the fence", b.line, b.kind())
		}
	}
}

// Every command stands in a block that a test runs, or that says why none does.
func TestNoStrayCommands(t *testing.T) {
	text, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range stray(string(text)) {
		t.Errorf("README.md:%d: a command outside a console block: no test would run it", line)
	}
}

// checkYAML loads a configuration, or reads another sort of YAML.
func checkYAML(t *testing.T, b *block) {
	if len(b.info) > 1 && b.info[1] == "lab" {
		if _, err := config.ParseTopology("README.md", []byte(strings.Repeat("\n", b.line-1)+b.text), os.ReadFile); err != nil {
			t.Error(err)
		}
		return
	}
	if len(b.info) > 1 {
		var v any
		if err := yaml.Unmarshal([]byte(b.text), &v); err != nil {
			t.Errorf("README.md:%d: %v", b.line, err)
		}
		if keys, _ := v.(map[string]any); b.info[1] == "web" && keys["rate_limit"] == nil {
			t.Errorf("README.md:%d: no rate_limit: every wrong password costs bcrypt's time", b.line)
		}
		return
	}
	if _, _, err := config.Parse("README.md", []byte(strings.Repeat("\n", b.line-1)+b.text)); err != nil {
		t.Error(err)
	}
}

// examples are the keys whose values in the README's list of all keys are not the defaults, as the text above it says.
var examples = []string{"name", "preset", "priorities", "queues", "ecn", "fdb", "api.socket", "ports.*.netns", "ports.*.tagged", "ports.*.priorities",
	"ports.*.watchdog.slow", "ports.*.kind", "ports.*.wire", "ports.*.addresses"}

// The README's list of all keys shows their defaults.
func TestDefaults(t *testing.T) {
	defaults := map[string]any{}
	config.NewSchema().Walk(func(path string, s *config.Schema) {
		if s.Default != nil {
			defaults[path] = s.Default
		}
	})
	shown := 0
	for _, b := range read(t) {
		if b.kind() != "yaml" || !strings.Contains(b.text, "unknown_lossless:") {
			continue
		}
		var in map[string]any
		if err := yaml.Unmarshal([]byte(b.text), &in); err != nil {
			t.Fatal(err)
		}
		for path, value := range leaves("", in) {
			want, known := defaults[path]
			if !known || slices.ContainsFunc(examples, func(e string) bool { return path == e || strings.HasPrefix(path, e+".") }) {
				continue
			}
			shown++
			if fmt.Sprint(value) != fmt.Sprint(want) && !zero(value, want) {
				t.Errorf("README.md:%d: %s: %v, and the default is %v", b.line, path, value, want)
			}
		}
	}
	if shown < 60 {
		t.Errorf("only %d defaults are shown", shown)
	}
}

// The README names every answer of the API, and its keys.
func TestNouns(t *testing.T) {
	text, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, noun := range api.Nouns() {
		row := regexp.MustCompile("(?m)^\\| `"+noun+"` \\|.*`.*$").FindAllString(string(text), -1)
		r, err := api.Parse(noun, []byte(`{"schema":1}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keysOf(reflect.TypeOf(r).Elem()) {
			if !slices.ContainsFunc(row, func(r string) bool { return strings.Contains(r, "`"+key+"`") }) {
				t.Errorf("README.md: no table has `%s` of the answer %s", key, noun)
			}
		}
	}
}

// keysOf returns the keys of an answer but for those that every answer begins with.
func keysOf(answer reflect.Type) (keys []string) {
	for i := range answer.NumField() {
		f := answer.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "" && name != "schema" {
			keys = append(keys, name)
		}
	}
	return keys
}

// zero tells whether both values are none of anything, in whatever unit.
func zero(a, b any) bool {
	number := func(v any) string { return strings.TrimRight(fmt.Sprint(v), "KiBnms") }
	return number(a) == "0" && number(b) == "0"
}

// leaves returns the single values of a configuration, by path of the schema.
func leaves(path string, value any) map[string]any {
	in, ok := value.(map[string]any)
	if !ok {
		return map[string]any{path: value}
	}
	all := map[string]any{}
	for key, below := range in {
		if _, err := strconv.Atoi(key); err == nil || path == "ports" || path == "trunks" {
			key = "*"
		}
		maps.Copy(all, leaves(strings.TrimPrefix(path+"."+key, "."), below))
	}
	return all
}
