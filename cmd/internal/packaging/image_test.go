package packaging

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// An instruction of the Dockerfile.
type instruction struct {
	stage    string // its name, or its number for one without
	op, args string
}

// dockerfile reads the Dockerfile: instructions in order, their lines joined, comments left out.
func dockerfile() (all []instruction) {
	b, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		panic(err)
	}
	stage := ""
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(b), "")
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		op, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if op == "" {
			continue
		}
		if op == "FROM" {
			_, name, _ := strings.Cut(args, " AS ")
			stage = name
		}
		all = append(all, instruction{stage, op, strings.TrimSpace(args)})
	}
	return all
}

// last returns the arguments of an instruction of the last stage.
func last(t *testing.T, op string) string {
	t.Helper()
	args := ""
	for _, i := range dockerfile() {
		if i.op == "FROM" {
			args = ""
		}
		if i.op == op {
			args = i.args
		}
	}
	assert.MustBeTrue(t, args != "", "the last stage of the Dockerfile has no %s", op)
	return args
}

// Base images are pinned, the last one is empty and its user is not root, and stages copy from stages before them.
func TestDockerfile(t *testing.T) {
	pinned := regexp.MustCompile(`^[a-z/]+:\d+\.\d+\.\d+(-\w+)?(@sha256:[0-9a-f]{64})?$`)
	var stages []string
	for _, i := range dockerfile() {
		switch i.op {
		case "FROM":
			image, _, _ := strings.Cut(i.args, " ")
			assert.True(t, image == "scratch" || pinned.MatchString(image), "FROM %s: pin it to a whole version", image)
			stages = append(stages, i.stage)
		case "COPY":
			m := regexp.MustCompile(`--from=(\w+)`).FindStringSubmatch(i.args)
			assert.True(t, m == nil || slices.Contains(stages, m[1]), "COPY %s: there is no such stage before", i.args)
		case "ARG", "RUN", "WORKDIR", "USER", "HEALTHCHECK", "ENTRYPOINT", "CMD":
		default:
			t.Errorf("%s is no instruction that this test knows", i.op)
		}
	}
	assert.Equal(t, last(t, "FROM"), "scratch", "the last stage is from")
	if got := last(t, "USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(got) {
		t.Errorf("USER %s: want numbers that are not root's", got)
	}
	want := regexp.MustCompile(`golang:(\d+\.\d+)\.`).FindStringSubmatch(dockerfile()[0].args)
	assert.True(t, want != nil && strings.Contains(read(t, "go.mod"), "\ngo "+want[1]+"."),
		"the image is built by %s, and go.mod wants another Go", dockerfile()[0].args)
}

// words reads an instruction in its exec form.
func words(t *testing.T, args string) (argv []string) {
	t.Helper()
	must(t, json.Unmarshal([]byte(args[strings.Index(args, "["):]), &argv))
	return argv
}

// What the last image runs is the program that it has, with commands that the program has.
func TestImageCommands(t *testing.T) {
	copied := last(t, "COPY")
	for _, i := range dockerfile() {
		if i.op == "COPY" && strings.Contains(i.args, "/out/pfcswitch") {
			copied = i.args
		}
	}
	path := copied[strings.LastIndex(copied, " ")+1:]
	for _, argv := range [][]string{append(words(t, last(t, "ENTRYPOINT")), words(t, last(t, "CMD"))...),
		words(t, last(t, "HEALTHCHECK"))} {
		assert.True(t, argv[0] == path, "%q is run, and the program is %s", argv, path)
		hasCommand(t, argv)
	}
}

// mostBytes is what an image may have.
const mostBytes = 30_000_000

// The program in the image needs no other file, and is all that the image consists of.
func TestProgramIsStatic(t *testing.T) {
	path := program(t)
	f := assert.Got(elf.Open(path)).Must(t)
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		assert.True(t, p.Type != elf.PT_INTERP, "it is linked to shared libraries")
	}
	libraries, err := f.ImportedLibraries()
	assert.True(t, err != nil || len(libraries) == 0, "it needs %v", libraries)
	assert.True(t, f.Section(".debug_info") == nil && f.Section(".symtab") == nil, "it is not stripped")
	info := assert.Got(os.Stat(path)).Must(t)
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	var said float64
	_, text, _ := strings.Cut(read(t, "scripts/README.md"), "nothing but the program (")
	if _, err := fmt.Sscanf(text, "%f MB)", &said); err != nil || math.Abs(said*1e6-float64(info.Size())) > 1e6 {
		t.Errorf("it has %d bytes; scripts/README.md says %v MB (%v)", info.Size(), said, err)
	}
	assert.True(t, info.Size() <= mostBytes, "it has %d bytes, want at most %d", info.Size(), mostBytes)
}

// The context of the build has every folder that the program is made of.
func TestDockerignore(t *testing.T) {
	lines := strings.Split(read(t, ".dockerignore"), "\n")
	assert.True(t, slices.Contains(lines, "*"), "it does not begin with nothing")
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}",
		"./cmd/pfcswitch")
	list.Dir = root
	out := assert.Got(list.Output()).Must(t)
	for _, pkg := range strings.Fields(string(out)) {
		top := strings.Split(strings.TrimPrefix(pkg, "pfcswitch/"), "/")[0]
		assert.True(t, slices.Contains(lines, "!"+top), "%s is left out", top)
	}
}
