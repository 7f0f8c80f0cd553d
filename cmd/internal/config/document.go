package config

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
)

// The YAML parser's time and memory grow with the square of its input and merges can multiply
// it, so all are bounded.
const (
	maxFileBytes = 256 << 10
	maxLineBytes = 4096
	maxBrackets  = 32
	maxMerges    = 4096
)

// document is a parsed file with its faults.
type document struct {
	file    string
	root    value
	anchors map[string]ast.Node
	lines   map[string]int // of every key that was read
	merges  int            // << sources followed so far
	faults  []*Error
	virtual bool // a configuration is for virtual time
}

// parseDocument always returns a document. A file that is not YAML has faults and an empty root.
func parseDocument(file string, data []byte) *document {
	doc := &document{file: file, anchors: map[string]ast.Node{}, lines: map[string]int{}}
	doc.root = value{doc: doc, line: 1}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	if line, text := oversized(data); text != "" {
		doc.fail(line, "", "%s", text)
		return doc
	}
	tree, err := yamlparser.ParseBytes(data, 0, yamlparser.AllowDuplicateMapKey())
	if err != nil {
		doc.failSyntax(err)
		return doc
	}
	var bodies []ast.Node
	for _, d := range tree.Docs {
		if _, directive := d.Body.(*ast.DirectiveNode); d.Body != nil && !directive {
			bodies = append(bodies, d.Body)
		}
	}
	if len(bodies) > 1 {
		doc.fail(lineOf(bodies[1], 1), "", "a second YAML document begins: keep one configuration in a file")
		return doc
	}
	if len(bodies) == 1 {
		doc.collectAnchors(bodies[0])
		doc.root.node, _ = doc.follow(doc.root, bodies[0])
	}
	return doc
}

// oversized finds input that would cost the YAML parser too much.
func oversized(data []byte) (line int, text string) {
	if len(data) > maxFileBytes {
		return 1, fmt.Sprintf("the file is too long, a configuration has at most %d bytes: name another file",
			maxFileBytes)
	}
	depth := 0
	for number, row := range bytes.Split(data, []byte("\n")) {
		if len(row) > maxLineBytes {
			return number + 1, fmt.Sprintf("the line has %d bytes: break it into lines of at most %d", len(row),
				maxLineBytes)
		}
		if text := unreadable(row); text != "" {
			return number + 1, text
		}
		for _, octet := range row {
			switch octet {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			}
			if depth > maxBrackets {
				return number + 1, fmt.Sprintf("more than %d brackets are open: close them", maxBrackets)
			}
		}
	}
	return 0, ""
}

// unreadable finds bytes that are not text.
func unreadable(row []byte) string {
	if i := bytes.IndexFunc(row, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f }); i >= 0 {
		return fmt.Sprintf("byte %d of the line is the control character 0x%02x: write the file as plain text (UTF-8)",
			i+1, row[i])
	}
	if !utf8.Valid(row) {
		return "the line is no UTF-8: save the file as UTF-8"
	}
	return ""
}

func (d *document) failSyntax(err error) {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
		d.fail(syntax.Token.Position.Line, "", "not YAML: %s: correct the syntax here or in the line above",
			syntax.Message)
		return
	}
	d.fail(1, "", "not YAML: %v: correct the syntax", err)
}

func (d *document) collectAnchors(body ast.Node) {
	for _, node := range ast.Filter(ast.AnchorType, body) {
		if anchor, ok := node.(*ast.AnchorNode); ok && anchor.Name != nil {
			d.anchors[anchor.Name.GetToken().Value] = anchor.Value
		}
	}
}

// follow removes anchors and tags, and resolves aliases. The node is nil for an empty value; ok is false if an alias
// cannot be resolved, which is a fault.
func (d *document) follow(at value, node ast.Node) (ast.Node, bool) {
	for range 16 {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		case *ast.MappingKeyNode:
			node = n.Value
		case *ast.AliasNode:
			name := n.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				at.fail("*%s names no anchor: define it with &%s, or write the value", name, name)
				return nil, false
			}
			node = target
		case *ast.NullNode:
			return nil, true
		default:
			return node, true
		}
	}
	at.fail("the alias refers to itself: write the value out")
	return nil, false
}

func (d *document) fail(line int, key, format string, args ...any) {
	d.faults = append(d.faults, &Error{File: d.file, Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// failKey records a fault of a key, at its line.
func (d *document) failKey(key, format string, args ...any) {
	d.faults = append(d.faults, source{d.file, d.lines}.Errorf(key, format, args...))
}

func (d *document) failed() bool { return len(d.faults) > 0 }

func (d *document) errors() *Errors { return newErrors(d.faults) }

// lineOf returns the line of a node, or otherwise if the node has no token.
func lineOf(node ast.Node, otherwise int) int {
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return otherwise
	}
	return node.GetToken().Position.Line
}
