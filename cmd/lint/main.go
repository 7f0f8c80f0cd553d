// Command lint is the project's set of analyzers for go vet -vettool: those of go vet itself, staticcheck, errcheck,
// ineffassign, unused, and one for names. It is a module of its own, so that pfcswitch depends on none of them.
package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/ast/astutil"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// leftOut has no place here: archtest wants package comments, and in one file of a package only.
const leftOut = "ST1000"

func main() {
	all := append(slices.Clone(vet.Suite), errors(), ineffassign.Analyzer, unusedCode, names)
	for _, a := range slices.Concat(staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers) {
		if a.Analyzer.Name != leftOut {
			all = append(all, a.Analyzer)
		}
	}
	unitchecker.Main(all...)
}

// mayFail names functions whose errors say nothing that matters where they are not looked at.
var mayFail = regexp.MustCompile(`^(Close|Flush|Remove(All)?|(Un)?[Ss]etenv|.*[Pp]rint(f|ln)?)$`)

// errors is errcheck without the calls of functions that may fail.
func errors() *analysis.Analyzer {
	a, run := errcheck.Analyzer, errcheck.Analyzer.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		filtered, report := *pass, pass.Report
		filtered.Report = func(d analysis.Diagnostic) {
			if !mayFail.MatchString(called(pass.Files, d.Pos)) {
				report(d)
			}
		}
		return run(&filtered)
	}
	return a
}

// called is the name of the function that is called at a position, without its package or receiver.
func called(files []*ast.File, at token.Pos) string {
	for _, f := range files {
		if f.FileStart > at || at > f.FileEnd {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(f, at, at)
		for _, n := range path {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				continue
			}
			switch fun := call.Fun.(type) {
			case *ast.SelectorExpr:
				return fun.Sel.Name
			case *ast.Ident:
				return fun.Name
			}
		}
	}
	return ""
}

// unusedCode reports what staticcheck's unused finds, which go vet has no way to show.
var unusedCode = &analysis.Analyzer{
	Name: "unused", Doc: "finds what is declared and not used",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, o := range pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result).Unused {
			for _, f := range pass.Files {
				if file := pass.Fset.File(f.FileStart); file.Name() == o.Position.Filename {
					pass.Reportf(file.Pos(o.Position.Offset), "%s %s is unused", o.Kind, o.Name)
				}
			}
		}
		return nil, nil
	},
}

// names wants a context to be a function's first parameter, and no name that Go has declared already.
var names = &analysis.Analyzer{
	Name: "names", Doc: "finds redeclared names of Go itself, and contexts behind other parameters",
	Run: func(pass *analysis.Pass) (any, error) {
		for id, o := range pass.TypesInfo.Defs {
			switch o := o.(type) {
			case nil, *types.PkgName:
			case *types.Func:
				params := o.Signature().Params()
				for i := 1; i < params.Len(); i++ {
					if params.At(i).Type().String() == "context.Context" {
						pass.Reportf(id.Pos(), "%s: the context should be the first parameter", id.Name)
					}
				}
			case *types.Var:
				if !o.IsField() && types.Universe.Lookup(id.Name) != nil {
					pass.Reportf(id.Pos(), "%s is a name of Go's own", id.Name)
				}
			}
		}
		return nil, nil
	},
}
