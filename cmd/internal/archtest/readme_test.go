package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A block is a fenced block of a Markdown text; package readme executes them.
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

// readme returns the blocks of the README, none where there is none yet.
func readme(t *tree) []block {
	b, err := fs.ReadFile(t.fs, "README.md")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return blocks(string(b))
}

// checkReadmeKeys finds keys of the configuration that no YAML block of the README shows, as a key or in a comment.
func checkReadmeKeys(t *tree) (found []string) {
	var text string
	for _, b := range readme(t) {
		if slices.Equal(b.info, []string{"yaml"}) || slices.Equal(b.info, []string{"yaml", "lab"}) {
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

func TestReadmeShowsEveryKey(t *testing.T) {
	if source := project(t); source.packages()["cmd/internal/config"] != nil && len(configKeys(source)) < 50 {
		t.Errorf("only %d keys found", len(configKeys(source)))
	}
	report(t, "the README shows every key of the configuration", checkReadmeKeys(project(t)))
}

func TestBlocks(t *testing.T) {
	got := blocks("text\n```yaml\na: 1\n\nb: 2\n```\n```\nplain\n```\n  ```console\n  $ x\n  ```\n")
	want := []block{{3, []string{"yaml"}, "a: 1\n\nb: 2\n"}, {8, []string{}, "plain\n"}, {11, []string{"console"}, "  $ x\n"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCheckReadmeKeys(t *testing.T) {
	reads := "var a = []any{field{\"cell\", read}, []field{{\"xon\", read}}}"
	verify(t, checkReadmeKeys, []check{
		{"all", map[string]string{"cmd/internal/config/a.go": reads, "README.md": "```yaml\ncell: 1 # or xon: 2\n```\n"}, nil},
		{"one is missing", map[string]string{"cmd/internal/config/a.go": reads, "README.md": "cell\n```yaml\nxon: 1\n```\n"}, []string{"the key cell"}},
		{"a part of a word", map[string]string{"cmd/internal/config/a.go": reads, "README.md": "```yaml\ncell: {xon_offset: 1}\n```\n"}, []string{"the key xon"}},
	})
}
