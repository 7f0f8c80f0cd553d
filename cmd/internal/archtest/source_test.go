package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
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

// uses calls see for every qualified identifier of another package, as ("time", "Now").
func (f *goFile) uses(see func(at token.Pos, importPath, name string)) {
	imports := f.imports()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
			see(sel.Pos(), imports[x.Name], sel.Sel.Name)
		}
		return true
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

// root returns the folder with go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod in any folder above")
		}
	}
}

// project loads this project.
func project(t *testing.T) *tree {
	t.Helper()
	tree, err := load(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	return tree
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
	tree, err := load(m)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// report fails the test with all that a check found.
func report(t *testing.T, rule string, found []string) {
	t.Helper()
	if len(found) == 0 {
		return
	}
	sort.Strings(found)
	t.Errorf("%s: %d found\n\t%s", rule, len(found), strings.Join(found, "\n\t"))
}

// check is one test of a check: a tree and what must be found in it.
type check struct {
	name  string
	files map[string]string
	want  []string // a part of each finding, in sorted order; none = the tree is fine
}

// verify runs a check over invented trees.
func verify(t *testing.T, run func(*tree) []string, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			got := run(invented(t, c.files))
			sort.Strings(got)
			if len(got) != len(c.want) {
				t.Fatalf("got %d findings %q, want %d like %q", len(got), got, len(c.want), c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want one that says %q", got[i], want)
				}
			}
		})
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
