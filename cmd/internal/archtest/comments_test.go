package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// checkPackageComments finds packages that do not say what they are.
func checkPackageComments(t *tree) (found []string) {
	for pkg, files := range t.packages() {
		said, code := false, false
		for _, f := range files {
			code = code || !f.test
			said = said || !f.test && f.ast.Doc != nil
		}
		switch {
		case !code:
			found = append(found, fmt.Sprintf("%s: has tests only: add a doc.go that says what they keep", pkg))
		case !said:
			found = append(found, fmt.Sprintf("%s: has no package comment: write the map of the package, best "+
				"in doc.go", pkg))
		}
	}
	return found
}

// checkComments finds exported names without a comment: functions, methods of exported types, types, methods of
// exported interfaces (a sentence about them in the interface's other comments counts), constants and variables
// (the comment of their group counts).
func checkComments(t *tree) (found []string) {
	for _, f := range t.files {
		if f.test {
			continue
		}
		missing := func(n ast.Node, name string) {
			found = append(found, fmt.Sprintf("%s: %s has no comment", t.at(n.Pos()), name))
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
					missing(d, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					uncommented(spec, d.Doc, missing)
				}
			}
		}
	}
	return found
}

// exportedReceiver says whether others can see the method, if it is one.
func exportedReceiver(d *ast.FuncDecl) bool { return d.Recv == nil || ast.IsExported(receiver(d)) }

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func uncommented(spec ast.Spec, group *ast.CommentGroup, missing func(ast.Node, string)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		if s.Doc == nil && s.Comment == nil && group == nil {
			missing(s, s.Name.Name)
		}
		if i, ok := s.Type.(*ast.InterfaceType); ok {
			uncommentedMethods(s, i, group, missing)
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil || group != nil {
			return
		}
		for _, n := range s.Names {
			if n.IsExported() {
				missing(n, n.Name)
			}
		}
	}
}

func uncommentedMethods(s *ast.TypeSpec, i *ast.InterfaceType, group *ast.CommentGroup,
	missing func(ast.Node, string)) {
	said := s.Doc.Text() + group.Text()
	for _, m := range i.Methods.List {
		said += m.Doc.Text()
	}
	words := strings.FieldsFunc(said, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, m := range i.Methods.List {
		if len(m.Names) == 1 && m.Names[0].IsExported() && m.Doc == nil && m.Comment == nil &&
			!slices.Contains(words, m.Names[0].Name) {
			missing(m, s.Name.Name+"."+m.Names[0].Name)
		}
	}
}

func TestPackageComments(t *testing.T) {
	obeys(t, "every package has a package comment", checkPackageComments, []check{
		{"one file says it", map[string]string{"a/doc.go": "// Package a is.\npackage a", "a/b.go": "package a"}, nil},
		{"none does", map[string]string{"a/b.go": "package a", "a/b_test.go": "// Package a.\npackage a"},
			[]string{"a: has no package comment"}},
		{"tests only", map[string]string{"a/b_test.go": "// Package a.\npackage a"}, []string{"a: has tests only"}},
	})
}

func TestComments(t *testing.T) {
	obeys(t, "every exported name has a comment", checkComments, []check{
		{"all said", map[string]string{"a/a.go": `
// F does.
func F() {}
// T is.
type T struct{ Field int }
// M does.
func (t *T) M() {}
type hidden struct{}
func (hidden) M() {}
// The answers.
const ( A = 1; B = 2 )
var (
	C = 1 // is said at the end
	d = 2
)
// I is.
type I interface {
	Do() // does
	// Get is said, and Put too.
	Get()
	Put()
	error
}`, "a/a_test.go": "func F() {}"}, nil},
		{"nothing said", map[string]string{"a/a.go": `func F() {}
type T[K any] struct{}
func (t *T[K]) M() {}
const A, b, C = 1, 2, 3
// I is.
type I interface { Do() }`}, []string{":2: F", ":3: T", ":4: M", ":5: A", ":5: C", ":7: I.Do"}},
	})
}
