package readme

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/web"
	"pfcswitch/dataplane/assert"
)

const root = "../../.."

// texts returns every README.md of the project, by its path from the root.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all, err := All(os.DirFS(root))
	assert.MustBeTrue(t, err == nil && all["README.md"] != "", "%d READMEs found: %v", len(all), err)
	return all
}

// read returns the blocks of all READMEs.
func read(t *testing.T) (all []Block) {
	t.Helper()
	markdown := texts(t)
	for _, file := range slices.Sorted(maps.Keys(markdown)) {
		some := assert.Got(Blocks(file, markdown[file])).Must(t)
		all = append(all, some...)
	}
	return all
}

// Every configuration of the READMEs loads, and no block is of a kind that nobody knows.
func TestConfigurations(t *testing.T) {
	for _, b := range read(t) {
		switch b.kind() {
		case "yaml":
			checkYAML(t, &b)
		case "sh", "console", "text", "svg":
		default:
			t.Errorf("%s: a block of kind %q: write sh, console, yaml or text behind the fence", b.at(), b.kind())
		}
	}
}

// Every command stands in a block that a test runs, or that says why none does.
func TestNoStrayCommands(t *testing.T) {
	for file, text := range texts(t) {
		for _, line := range stray(text) {
			t.Errorf("%s:%d: a command outside a console block: no test would run it", file, line)
		}
	}
}

// The benchmarks of which READMEs tell figures are there.
func TestBenchmarksAreThere(t *testing.T) {
	named := regexp.MustCompile("`go test (\\./\\S+) (?:-run \\S+ )?-bench '?(\\w+)[^`]*`|`(Benchmark\\w+)`")
	count := 0
	for file, text := range texts(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			count++
			folder, name := m[1], m[2]+m[3]
			pattern := `^func Benchmark\w*` + strings.TrimPrefix(name, "Benchmark") + `\w*\(`
			args := []string{"-rlE", "--include=*_test.go", pattern, root}
			if folder != "" { // go test looks into this folder alone
				files := assert.Got(filepath.Glob(filepath.Join(root, folder, "*_test.go"))).Must(t)
				args = append([]string{"-lE", pattern, os.DevNull}, files...)
			}
			out, err := exec.Command("grep", args...).CombinedOutput()
			assert.True(t, err == nil, "%s: %s: there is no such benchmark (%v %s)", file, m[0], err, out)
		}
	}
	assert.True(t, count >= 2, "the READMEs name only %d benchmarks", count)
}

// README.md at the top shows what the test command prints at its end: each stage of it, in its order.
func TestStagesAreShown(t *testing.T) {
	script := assert.Got(os.ReadFile(root + "/scripts/test.sh")).Must(t)
	stages := regexp.MustCompile(`(?m)^readonly all_stages=\((.*)\)$`).FindStringSubmatch(string(script))
	assert.MustBeTrue(t, stages != nil, "scripts/test.sh has no stages")
	for _, b := range read(t) {
		if b.file != "README.md" {
			continue
		}
		i := slices.IndexFunc(b.commands(), func(c command) bool { return c.text == "scripts/test.sh" })
		if i < 0 {
			continue
		}
		var shown []string
		for _, line := range b.commands()[i].output {
			if m := regexp.MustCompile(`^(\w+) +(pass|-) +\d+ s$`).FindStringSubmatch(line); m != nil {
				shown = append(shown, m[1])
			}
		}
		got := strings.Join(shown, " ")
		assert.True(t, got == stages[1], "%s: it shows the stages %s, and there are %s", b.at(), got, stages[1])
		return
	}
	t.Error("README.md does not run scripts/test.sh")
}

// checkYAML loads a configuration, or has the program that reads another sort of YAML check it.
func checkYAML(t *testing.T, b *Block) {
	text := []byte(strings.Repeat("\n", b.line-1) + b.Text)
	var err error
	switch strings.Join(b.Info, " ") {
	case "yaml":
		_, _, err = config.Parse(b.file, text)
	case "yaml lab", "yaml lab sim":
		_, err = config.ParseTopology(b.file, text, os.ReadFile)
	case "yaml prometheus":
		err = checkPrometheus(t, text)
	case "yaml web":
		err = checkWeb(t, string(text))
	default:
		err = fmt.Errorf("nobody checks a block of kind %q", b.Info)
	}
	assert.NoError(t, err, "%s", b.at())
}

// checkPrometheus has the real Prometheus' own tool check a file, and the rules that it names.
func checkPrometheus(t *testing.T, text []byte) error {
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("CI") != "true" {
			t.Log("NOT CHECKED: there is no promtool (Debian: apt-get install prometheus)")
			return nil
		}
		return err
	}
	dir := t.TempDir()
	here, err := filepath.Abs(root)
	if err == nil {
		err = os.Symlink(here+"/metrics", dir+"/metrics")
	}
	if err == nil {
		err = os.WriteFile(dir+"/prometheus.yml", text, 0o600)
	}
	if err != nil {
		return err
	}
	out, err := exec.Command("promtool", "check", "config", dir+"/prometheus.yml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 rule files found") {
		return fmt.Errorf("promtool: %v: %s", err, out)
	}
	return nil
}

// someHash is bcrypt of "secret"; READMEs show only how one begins.
const someHash = "$2a$04$6DtK3SCgCw9ZYvgCsvCbROYCOkTsuNqQDJoZsuMEp/ypyZGzPsg0K"

// checkWeb has the page take a file of the exporter-toolkit, with a certificate and a hash in it.
func checkWeb(t *testing.T, text string) error {
	dir := t.TempDir()
	if !strings.Contains(text, "$2y$10$...") || !strings.Contains(text, "rate_limit:") {
		return errors.New("no password to fill in, or no rate_limit: every wrong password costs bcrypt's time")
	}
	if err := makeCertificate(dir+"/leaf1.crt", dir+"/leaf1.key"); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/web.yml", []byte(strings.ReplaceAll(text, "$2y$10$...", someHash)),
		0o600); err != nil {
		return err
	}
	return web.CheckSecurity(dir + "/web.yml")
}

// makeCertificate writes a certificate that signs itself, and its key.
func makeCertificate(certificate, private string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"leaf1"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o600),
		os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
}

// examples are the keys whose values in the READMEs' list of all keys are not the defaults, as the text above it says.
var examples = []string{"name", "preset", "priorities", "queues", "ecn", "fdb", "api.socket", "ports.*.netns",
	"ports.*.tagged", "ports.*.priorities",
	"ports.*.watchdog.slow", "ports.*.kind", "ports.*.wire", "ports.*.addresses"}

// One list of all keys shows their defaults.
func TestDefaults(t *testing.T) {
	defaults := map[string]any{}
	config.NewSchema().Walk(func(path string, s *config.Schema) {
		if s.Default != nil {
			defaults[path] = s.Default
		}
	})
	shown, lists := 0, 0
	for _, b := range read(t) {
		if b.kind() != "yaml" || !strings.Contains(b.Text, "unknown_lossless:") {
			continue
		}
		lists++
		var in map[string]any
		assert.Must(t, yaml.Unmarshal([]byte(b.Text), &in))
		for path, value := range leaves("", in) {
			want, known := defaults[path]
			if !known || slices.ContainsFunc(examples, func(e string) bool {
				return path == e || strings.HasPrefix(path, e+".")
			}) {
				continue
			}
			shown++
			assert.True(t, fmt.Sprint(value) == fmt.Sprint(want) || zero(value, want),
				"%s: %s: %v, and the default is %v", b.at(), path, value, want)
		}
	}
	assert.True(t, shown >= 60 && lists == 1, "%d lists show %d defaults", lists, shown)
}

// A README names every answer of the API, and its keys.
func TestNouns(t *testing.T) {
	text := texts(t)["cmd/internal/api/README.md"]
	for _, noun := range api.Nouns() {
		row := regexp.MustCompile("(?m)^\\| `"+noun+"` \\|.*`.*$").FindAllString(text, -1)
		r := assert.Got(api.Parse(noun, []byte(`{"schema":1}`))).Must(t)
		for _, key := range keysOf(reflect.TypeOf(r).Elem()) {
			assert.True(t, slices.ContainsFunc(row, func(r string) bool { return strings.Contains(r, "`"+key+"`") }),
				"cmd/internal/api/README.md: no table has `%s` of the answer %s", key, noun)
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
