package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/readme"
)

// readmes returns the README.md of every folder, by path.
func readmes(t *tree) map[string]string {
	all, _ := readme.All(t.fs) // an unreadable README shows as a missing one
	return all
}

// checkReadmeKeys finds keys of the configuration that no YAML block of a README shows, as a key or in a comment.
func checkReadmeKeys(t *tree) (found []string) {
	var text string
	for file, markdown := range readmes(t) {
		blocks, err := readme.Blocks(file, markdown)
		if err != nil {
			return []string{err.Error()}
		}
		for _, b := range blocks {
			if info := strings.Join(b.Info, " "); info == "yaml" || strings.HasPrefix(info, "yaml lab") {
				text += b.Text
			}
		}
	}
	for _, key := range configKeys(t) {
		if ok, err := regexp.MatchString(`\b`+key+`\b`, text); err != nil || !ok {
			found = append(found, fmt.Sprintf("no configuration of a README shows the key %s", key))
		}
	}
	return found
}

// maxReadmeLines is what a person reads in one go.
const maxReadmeLines = 250

// packageHeadings are those of every README.md below the top, in this order.
var packageHeadings = []string{"What", "Example", "Configuration", "Commands", "Metrics", "How it works", "Limits",
	"Measured"}

// checkReadmeShape finds READMEs that are too long, and package READMEs with other headings.
func checkReadmeShape(t *tree) (found []string) {
	for p, markdown := range readmes(t) {
		if n := strings.Count(markdown, "\n"); n > maxReadmeLines {
			found = append(found, fmt.Sprintf("%s: %d lines, want at most %d", p, n, maxReadmeLines))
		}
		if p == "README.md" {
			continue
		}
		var got []string
		for _, h := range headings(markdown) {
			if text, ok := strings.CutPrefix(h, "## "); ok {
				got = append(got, text)
			}
		}
		if !slices.Equal(got, packageHeadings) {
			found = append(found, fmt.Sprintf("%s: its headings are %q, want %q", p, got, packageHeadings))
		}
	}
	slices.Sort(found)
	return found
}

// headings returns the lines of a Markdown text that are headings, with their number signs.
func headings(markdown string) (all []string) {
	for line := range strings.Lines(withoutBlocks(markdown)) {
		if text := strings.TrimSpace(line); regexp.MustCompile(`^#+ `).MatchString(text) {
			all = append(all, text)
		}
	}
	return all
}

// withoutBlocks returns a Markdown text without its fenced blocks and code between backticks.
func withoutBlocks(markdown string) string {
	var b strings.Builder
	for i, part := range strings.Split(markdown, "```") {
		if i%2 == 0 {
			b.WriteString(regexp.MustCompile("`[^`\n]*`").ReplaceAllStringFunc(part, func(code string) string {
				return strings.Trim(code, "`[]()")
			}))
		}
	}
	return b.String()
}

// anchors returns the fragments by which links reach the headings of a Markdown text.
func anchors(markdown string) map[string]bool {
	all := map[string]bool{}
	for _, h := range headings(markdown) {
		text := strings.ToLower(strings.TrimSpace(strings.TrimLeft(h, "#")))
		text = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(text, "")
		all[strings.ReplaceAll(text, " ", "-")] = true
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// checkReadmeLinks finds links of READMEs to files and headings that do not exist.
func checkReadmeLinks(t *tree) (found []string) {
	for p, markdown := range readmes(t) {
		for _, m := range link.FindAllStringSubmatch(withoutBlocks(markdown), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			file := path.Join(path.Dir(p), target)
			if target == "" {
				file = p
			}
			if _, err := fs.Stat(t.fs, file); err != nil {
				found = append(found, fmt.Sprintf("%s: %s: there is no such file", p, m[1]))
				continue
			}
			if b, err := fs.ReadFile(t.fs, file); anchor != "" && (err != nil || !anchors(string(b))[anchor]) {
				found = append(found, fmt.Sprintf("%s: %s: there is no such heading", p, m[1]))
			}
		}
	}
	slices.Sort(found)
	return found
}

// configKeys returns the keys that package config reads: the names in its literals of type field, and the first
// arguments of the functions that make fields.
func configKeys(t *tree) (keys []string) {
	add := func(elements []ast.Expr) {
		if len(elements) < 2 {
			return
		}
		if name, ok := elements[0].(*ast.BasicLit); ok && name.Kind == token.STRING {
			keys = append(keys, strings.Trim(name.Value, "`\""))
		}
	}
	makers := []string{"key", "optional", "flagged", "entries", "inLine", "inBlock"}
	for _, f := range t.files {
		if f.test || f.pkg != "cmd/internal/config" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if slices.ContainsFunc(makers, func(name string) bool { return named(n.Fun, name) }) {
					add(n.Args)
				}
			case *ast.CompositeLit:
				if named(n.Type, "field") {
					add(n.Elts)
				}
				if list, ok := n.Type.(*ast.ArrayType); ok && named(list.Elt, "field") {
					for _, e := range n.Elts {
						if elided, ok := e.(*ast.CompositeLit); ok {
							add(elided.Elts)
						}
					}
				}
			}
			return true
		})
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func TestReadmeShowsEveryKey(t *testing.T) {
	if source := project(t); source.packages()["cmd/internal/config"] != nil && len(configKeys(source)) < 50 {
		t.Errorf("only %d keys found", len(configKeys(source)))
	}
	reads := "var a = []any{field{\"cell\", read}, []field{{\"xon\", read}}}"
	obeys(t, "READMEs show every key of the configuration", checkReadmeKeys, []check{
		{"all", map[string]string{"cmd/internal/config/a.go": reads,
			"README.md": "```yaml\ncell: 1 # or xon: 2\n```\n"}, nil},
		{"one is missing", map[string]string{"cmd/internal/config/a.go": reads,
			"README.md": "cell\n```yaml\nxon: 1\n```\n"}, []string{"the key cell"}},
		{"a part of a word", map[string]string{"cmd/internal/config/a.go": reads,
			"README.md": "```yaml\ncell: {xon_offset: 1}\n```\n"}, []string{"the key xon"}},
	})
}

func TestReadmesHaveOneShape(t *testing.T) {
	const good = "# x\n\n## What\n\n```sh\n## no heading\n```\n\n## Example\n\n## Configuration\n\n## Commands\n\n## " +
		"Metrics\n\n" +
		"## How it works\n\n### More\n\n## Limits\n\n## Measured\n"
	obeys(t, "READMEs are short, and those of packages have the same headings in the same order", checkReadmeShape,
		[]check{
			{"as it is", map[string]string{"README.md": "# y\n\n## Other\n", "x/README.md": good}, nil},
			{"one is missing", map[string]string{"x/README.md": strings.Replace(good, "## Limits\n", "", 1)},
				[]string{"x/README.md: its headings"}},
			{"another order", map[string]string{"x/README.md": "## Example\n" + good},
				[]string{"x/README.md: its headings"}},
			{"too long", map[string]string{"README.md": strings.Repeat("\n", 251),
				"x/README.md": good + strings.Repeat("\n", 300)},
				[]string{"README.md: 251", "x/README.md: 3"}},
		})
}

func TestReadmeLinks(t *testing.T) {
	const x = "## How it works, or `not`\n[there](../README.md#y) [home](#how-it-works-or-not) [web](https://x.y/z) " +
		"`[no](link)`\n```sh\n[no](link)\n```\n"
	obeys(t, "links of READMEs lead to files and headings that exist", checkReadmeLinks, []check{
		{"as it is", map[string]string{"README.md": "# Y\n[x](x/README.md) [folder](x)\n", "x/README.md": x}, nil},
		{"no file", map[string]string{"README.md": "[x](x/README.md)\n"},
			[]string{"README.md: x/README.md: there is no such file"}},
		{"no heading", map[string]string{"README.md": "[x](x/README.md#z)\n## Y\n", "x/README.md": x},
			[]string{"README.md: x/README.md#z: there is no such heading"}},
	})
}
