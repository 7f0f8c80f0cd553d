package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"pfcswitch/dataplane/assert"
)

// module is the import path of the tree's root.
const module = "pfcswitch"

// A tree is the source of the project, or of a small invented one.
type tree struct {
	fs    fs.FS
	fset  *token.FileSet
	files []*goFile
}

// A goFile is a parsed Go file.
type goFile struct {
	path string // from the root, with slashes
	pkg  string // its folder, "." for the root
	test bool
	src  []byte
	ast  *ast.File
}

// imports returns the file's imports by the name that they have in it.
func (f *goFile) imports() map[string]string {
	byName := map[string]string{}
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "_" || name == "." {
			name = p // cannot qualify anything
		}
		byName[name] = p
	}
	return byName
}

// each calls see for every node of one type.
func each[N ast.Node](in ast.Node, see func(n N)) {
	ast.Inspect(in, func(n ast.Node) bool {
		if n, ok := n.(N); ok {
			see(n)
		}
		return true
	})
}

// uses calls see for every qualified identifier of another package, as ("time", "Now").
func (f *goFile) uses(see func(at token.Pos, importPath, name string)) {
	imports := f.imports()
	each(f.ast, func(sel *ast.SelectorExpr) {
		if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
			see(sel.Pos(), imports[x.Name], sel.Sel.Name)
		}
	})
}

// at says where in the tree a position is.
func (t *tree) at(pos token.Pos) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// packages returns the files by folder.
func (t *tree) packages() map[string][]*goFile {
	pkgs := map[string][]*goFile{}
	for _, f := range t.files {
		pkgs[f.pkg] = append(pkgs[f.pkg], f)
	}
	return pkgs
}

// load parses every Go file of a tree. Folders that the go command overlooks are overlooked.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fs: fsys, fset: token.NewFileSet()}
	err := walk(fsys, func(p string) error {
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		src, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		t.files = append(t.files, &goFile{
			path: p, pkg: path.Dir(p), ast: parsed, src: src, test: strings.HasSuffix(p, "_test.go"),
		})
		return nil
	})
	return t, err
}

// walk visits the files outside of hidden folders and testdata.
func walk(fsys fs.FS, visit func(p string) error) error {
	return fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (name[0] == '.' || name[0] == '_' || name == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		return visit(p)
	})
}

var loadProject = sync.OnceValues(func() (*tree, error) { return load(os.DirFS("../../..")) })

// project returns this project.
func project(t *testing.T) *tree {
	t.Helper()
	return assert.Got(loadProject()).Must(t)
}

// invented loads a tree given as path → content. A content without a package clause is the body of a file of package p.
func invented(t *testing.T, files map[string]string) *tree {
	t.Helper()
	m := fstest.MapFS{}
	for p, src := range files {
		if strings.HasSuffix(p, ".go") && !strings.Contains(src, "package ") {
			src = "package p\n" + src
		}
		m[p] = &fstest.MapFile{Data: []byte(src)}
	}
	return assert.Got(load(m)).Must(t)
}

// report fails the test with all that a check found.
func report(t *testing.T, rule string, found []string) {
	t.Helper()
	if len(found) > 0 {
		sort.Strings(found)
		t.Errorf("%s: %d found\n\t%s", rule, len(found), strings.Join(found, "\n\t"))
	}
}

// obeys runs a check over the project, which has to obey the rule, and over invented trees.
func obeys(t *testing.T, rule string, run func(*tree) []string, checks []check) {
	t.Helper()
	report(t, rule, run(project(t)))
	verify(t, run, checks)
}

// check is one test of a check: a tree and what must be found in it.
type check struct {
	name  string
	files map[string]string
	want  []string // a part of each finding, in sorted order; none = the tree is fine
}

func verify(t *testing.T, run func(*tree) []string, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { says(t, run(invented(t, c.files)), c.want) })
	}
}

// says fails the test unless the findings, in sorted order, have these texts in them.
func says(t *testing.T, got, want []string) {
	t.Helper()
	sort.Strings(got)
	assert.MustBeTrue(t, len(got) == len(want), "got %d findings %q, want %d like %q", len(got), got, len(want), want)
	for i, text := range want {
		assert.True(t, strings.Contains(got[i], text), "got %q, want one that says %q", got[i], text)
	}
}

// matches says whether a folder is meant by one of the patterns: "a/b" is itself, "a/b/..." also all below.
func matches(pkg string, patterns []string) bool {
	for _, p := range patterns {
		if dir, tree := strings.CutSuffix(p, "/..."); pkg == dir || tree && strings.HasPrefix(pkg, dir+"/") {
			return true
		}
	}
	return false
}
