package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// topLevel is all that may stand at the top, besides hidden files and what .gitignore names.
var topLevel = []string{
	"go.mod", "go.sum", "cmd", "dataplane", "buffer", "macctl", "lldp", "headroom", "deadlock", "metrics", "scripts",
	"Dockerfile", "README.md", "LICENSE",
}

// checkTopLevel finds strangers at the top level.
func checkTopLevel(t *tree) (found []string) {
	ignored := ignoredAtTop(t.fs)
	entries, err := fs.ReadDir(t.fs, ".")
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		name := e.Name()
		if name[0] != '.' && !slices.Contains(topLevel, name) && !ignored(name) {
			found = append(found, fmt.Sprintf("%s: does not belong at the top level (%s)", name,
				strings.Join(topLevel, ", ")))
		}
	}
	return found
}

// ignoredAtTop understands the plain patterns of .gitignore: /name, /name/, *.ext.
func ignoredAtTop(fsys fs.FS) func(name string) bool {
	b, _ := fs.ReadFile(fsys, ".gitignore") // none is fine: nothing is ignored
	patterns := strings.Fields(string(b))
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(strings.Trim(p, "/"), name)
			return ok && err == nil
		})
	}
}

// longFile and longFunction are sizes above which a reader no longer sees the whole at once.
const (
	longFile     = 400
	longFunction = 60
)

// listSizes lists the files and, outside of tests, the functions that are long. A long one is no fault in itself.
func listSizes(t *tree) (found []string) {
	for _, f := range t.files {
		if ast.IsGenerated(f.ast) {
			continue
		}
		if n := bytes.Count(f.src, []byte("\n")); n > longFile {
			found = append(found, fmt.Sprintf("%s: %d lines", f.path, n))
		}
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1; n > longFunction {
				found = append(found, fmt.Sprintf("%s: %s has %d lines", t.at(fn.Pos()), fn.Name.Name, n))
			}
		}
	}
	return found
}

// A line ends at maxColumns, where a tab counts as tabColumns.
const (
	maxColumns = 120
	tabColumns = 4
)

// checkColumns finds the lines that are wider than maxColumns, besides imports and the text of raw strings.
func checkColumns(t *tree) (found []string) {
	for _, f := range t.files {
		found = append(found, t.wideLines(f)...)
	}
	return found
}

func (t *tree) wideLines(f *goFile) (found []string) {
	if ast.IsGenerated(f.ast) {
		return nil
	}
	exempt := map[int]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			exempt[t.fset.Position(n.Pos()).Line] = true
		case *ast.BasicLit:
			for i := t.fset.Position(n.Pos()).Line; n.Value[0] == '`' && i <= t.fset.Position(n.End()).Line; i++ {
				exempt[i] = true
			}
		}
		return true
	})
	for i, line := range strings.Split(string(f.src), "\n") {
		columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
		if columns > maxColumns && !exempt[i+1] {
			found = append(found, fmt.Sprintf("%s:%d: %d columns: break it at %d", f.path, i+1, columns, maxColumns))
		}
	}
	return found
}

// vagueNames say nothing about what is inside.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "manager", "base", "shared"}

// checkNames finds files and packages with a vague name. The buffer manager is SAI's word.
func checkNames(t *tree) (found []string) {
	for _, f := range t.files {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		if slices.Contains(vagueNames, base) && f.pkg != "buffer" {
			found = append(found, f.path+": a file's name says its idea")
		}
	}
	for pkg := range t.packages() {
		if slices.Contains(vagueNames, path.Base(pkg)) {
			found = append(found, pkg+": a package's name says what it is")
		}
	}
	return found
}

// unfinished matches the marks of unfinished work; written so that it does not match itself.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

// checkUnfinished finds marks of unfinished work in code, scripts and documents.
func checkUnfinished(t *tree) (found []string) {
	err := walk(t.fs, func(p string) error {
		if !slices.Contains([]string{".go", ".sh", ".md", ".yml", ".yaml", ".mod"}, path.Ext(p)) &&
			path.Base(p) != "Dockerfile" {
			return nil
		}
		b, err := fs.ReadFile(t.fs, p)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			if m := unfinished.FindString(line); m != "" {
				found = append(found, fmt.Sprintf("%s:%d: %s: finish it, or file an issue", p, i+1, m))
			}
		}
		return nil
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

// TestSizes prints what is long (go test -v).
func TestSizes(t *testing.T) {
	found := listSizes(project(t))
	slices.Sort(found)
	t.Logf("%d files are longer than %d lines, or functions than %d:\n\t%s", len(found), longFile, longFunction,
		strings.Join(found, "\n\t"))
}

func TestTopLevel(t *testing.T) {
	obeys(t, "the top level is fixed", checkTopLevel, []check{
		{"as it should be", map[string]string{
			"go.mod": "", "cmd/x.go": "", "README.md": "", ".ci/run": "", "pfcswitch": "", "dist/x": "", "a.test": "",
			".gitignore": "/pfcswitch\n/dist/\n*.test\n",
		}, nil},
		{"strangers", map[string]string{"pkg/x.go": "", "notes.txt": "", "a.test": ""},
			[]string{"a.test", "notes.txt", "pkg"}},
	})
}

func TestListSizes(t *testing.T) {
	function := func(lines int) string { return "func f() {" + strings.Repeat("\n", lines-1) + "}\n" }
	verify(t, listSizes, []check{
		{"at the limit", map[string]string{
			"a/a.go":      "package a\n" + function(60) + strings.Repeat("\n", 400-61),
			"a/a_test.go": "package a\n" + function(300),
			"a/gen.go":    "// Code generated by x. DO NOT EDIT.\npackage a\n" + function(500),
		}, nil},
		{"above it", map[string]string{
			"a/a.go":      "package a\n" + function(61),
			"a/b_test.go": "package a\n" + strings.Repeat("\n", 400),
		}, []string{"a/a.go:2: f has 61 lines", "a/b_test.go: 401 lines"}},
	})
}

func TestColumns(t *testing.T) {
	line := func(n int) string { return "//" + strings.Repeat("é", n-2) }
	obeys(t, fmt.Sprintf("lines end at %d columns", maxColumns), checkColumns, []check{
		{"at the limit", map[string]string{
			"a/a.go":   "package a\n" + line(120) + "\n\t" + line(116),
			"a/raw.go": "package a\n\nconst a = `" + line(121) + "\n" + line(121) + "`\n",
			"a/gen.go": "// Code generated by x. DO NOT EDIT.\npackage a\n" + line(121),
		}, nil},
		{"above it", map[string]string{
			"a/a.go": "package a\n" + line(121) + "\n\t" + line(117),
		}, []string{"a/a.go:2: 121 columns", "a/a.go:3: 121 columns"}},
	})
}

func TestNames(t *testing.T) {
	obeys(t, "names say what is inside", checkNames, []check{
		{"telling ones", map[string]string{"buffer/manager.go": "", "lldp/tlv.go": ""}, nil},
		{"vague ones", map[string]string{"lldp/types.go": "", "lldp/helpers_test.go": "", "cmd/internal/util/a.go": ""},
			[]string{"cmd/internal/util: a package", "lldp/helpers_test.go", "lldp/types.go"}},
	})
}

func TestNothingUnfinished(t *testing.T) {
	mark := "TO" + "DO"
	obeys(t, "nothing is left unfinished", checkUnfinished, []check{
		{"finished", map[string]string{"a/a.go": "// " + mark + "S are not marks", "a/testdata/x.md": mark,
			"a/x.bin": mark}, nil},
		{"unfinished", map[string]string{"a/a.go": "\n// " + mark + ": more", "README.md": "FIX" + "ME"},
			[]string{"README.md:1: FIX", "a/a.go:3: TO"}},
	})
}
