package archtest

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
)

// A block is a fenced block of a Markdown text. Two kinds are executed:
//
//	```yaml              is a configuration and must load (```yaml WORD is another sort of YAML)
//	```console runnable  holds commands behind "$ ", run one after the other at the root; each must end well
type block struct {
	line int      // of its first line of content
	info []string // the words behind the opening fence
	text string
}

func blocks(markdown string) (all []block) {
	var open *block
	for i, line := range strings.Split(markdown, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{line: i + 2, info: strings.Fields(fence)}
		case isFence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return all
}

func checkReadmeYAML(t *tree) (found []string) {
	for _, b := range readme(t) {
		if !slices.Equal(b.info, []string{"yaml"}) {
			continue
		}
		if _, _, err := config.Parse("README.md", []byte(strings.Repeat("\n", b.line-1)+b.text)); err != nil {
			found = append(found, err.Error())
		}
	}
	return found
}

// readme returns the blocks of the README, none where there is none yet.
func readme(t *tree) []block {
	b, err := fs.ReadFile(t.fs, "README.md")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return blocks(string(b))
}

// checkReadmeCommands runs the commands of runnable blocks, in dir, with path before the PATH.
func checkReadmeCommands(t *tree, dir, path string) (found []string) {
	for _, b := range readme(t) {
		if !slices.Equal(b.info, []string{"console", "runnable"}) {
			continue
		}
		for i, line := range strings.Split(b.text, "\n") {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			if out, err := shell(dir, path, command); err != nil {
				found = append(found, fmt.Sprintf("README.md:%d: %s: %v\n%s", b.line+i, command, err, out))
			}
		}
	}
	return found
}

// checkReadmeKeys finds keys of the configuration that no YAML block of the README shows, as a key or in a comment.
func checkReadmeKeys(t *tree) (found []string) {
	var text string
	for _, b := range readme(t) {
		if slices.Equal(b.info, []string{"yaml"}) {
			text += b.text
		}
	}
	for _, key := range configKeys(t) {
		if ok, err := regexp.MatchString(`\b`+key+`\b`, text); err != nil || !ok {
			found = append(found, fmt.Sprintf("README.md: no configuration shows the key %s", key))
		}
	}
	return found
}

// configKeys returns the keys that package config reads: the names in its literals of type field.
func configKeys(t *tree) (keys []string) {
	for _, f := range t.files {
		if f.test || f.pkg != "cmd/internal/config" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if named(lit.Type, "field") {
				keys = append(keys, configKey(lit)...)
			}
			if list, ok := lit.Type.(*ast.ArrayType); ok && named(list.Elt, "field") {
				for _, e := range lit.Elts {
					if elided, ok := e.(*ast.CompositeLit); ok {
						keys = append(keys, configKey(elided)...)
					}
				}
			}
			return true
		})
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// configKey returns the name in a literal of type field; nothing where it is no constant.
func configKey(lit *ast.CompositeLit) []string {
	if len(lit.Elts) != 2 {
		return nil
	}
	name, ok := lit.Elts[0].(*ast.BasicLit)
	if !ok || name.Kind != token.STRING {
		return nil
	}
	return []string{strings.Trim(name.Value, "`\"")}
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func shell(dir, path, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

func TestReadmeConfigurationsLoad(t *testing.T) {
	report(t, "configurations of the README load", checkReadmeYAML(project(t)))
}

func TestReadmeShowsEveryKey(t *testing.T) {
	if source := project(t); source.packages()["cmd/internal/config"] != nil && len(configKeys(source)) < 50 {
		t.Errorf("only %d keys found", len(configKeys(source)))
	}
	report(t, "the README shows every key of the configuration", checkReadmeKeys(project(t)))
}

func TestReadmeCommandsRun(t *testing.T) {
	source, bin := project(t), t.TempDir()
	if source.packages()["cmd/pfcswitch"] != nil {
		build := exec.Command("go", "build", "-o", bin, "./cmd/pfcswitch")
		build.Dir = root(t)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	report(t, "commands of the README run", checkReadmeCommands(source, root(t), bin))
}

func TestBlocks(t *testing.T) {
	got := blocks("text\n```yaml\na: 1\n\nb: 2\n```\n```\nplain\n```\n  ```console runnable\n  $ x\n  ```\n")
	want := []block{{3, []string{"yaml"}, "a: 1\n\nb: 2\n"}, {8, []string{}, "plain\n"}, {11, []string{"console", "runnable"}, "  $ x\n"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCheckReadmeYAML(t *testing.T) {
	yaml := func(info, text string) map[string]string {
		return map[string]string{"README.md": "# Title\n\n```" + info + "\n" + text + "\n```\n"}
	}
	verify(t, checkReadmeYAML, []check{
		{"no README", nil, nil},
		{"loads", yaml("yaml", "name: leaf1\npreset: roce\nports: {p1: {}, p2: {}}"), nil},
		{"does not", yaml("yaml", "name: leaf1\nno_such_key: 1"), []string{"README.md:5"}},
		{"another sort of YAML", yaml("yaml topology", "no_such_key: 1"), nil},
	})
}

func TestCheckReadmeKeys(t *testing.T) {
	reads := "var a = []any{field{\"cell\", read}, []field{{\"xon\", read}}}"
	verify(t, checkReadmeKeys, []check{
		{"all", map[string]string{"cmd/internal/config/a.go": reads, "README.md": "```yaml\ncell: 1 # or xon: 2\n```\n"}, nil},
		{"one is missing", map[string]string{"cmd/internal/config/a.go": reads, "README.md": "cell\n```yaml\nxon: 1\n```\n"}, []string{"the key cell"}},
		{"a part of a word", map[string]string{"cmd/internal/config/a.go": reads, "README.md": "```yaml\ncell: {xon_offset: 1}\n```\n"}, []string{"the key xon"}},
	})
}

func TestCheckReadmeCommands(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "the-tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(t *tree) []string { return checkReadmeCommands(t, dir, dir) }
	verify(t, run, []check{
		{"run", map[string]string{"README.md": "```console runnable\n$ the-tool\noutput\n$ test -f the-tool\n```\n"}, nil},
		{"one does not", map[string]string{"README.md": "```console runnable\n$ the-tool\n$ echo why >&2; false\n```\n"}, []string{"README.md:3: echo why >&2; false: exit status 1\nwhy"}},
		{"not marked", map[string]string{"README.md": "```console\n$ false\n```\n"}, nil},
	})
}
