package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// scaleRates scales what a document calls a speed or a rate. Words such as none stay.
func (r *labReader) scaleRates(root value) {
	if r.scale == 1 || root.node == nil {
		return
	}
	for _, n := range ast.Filter(ast.MappingValueType, root.node) {
		entry := n.(*ast.MappingValueNode)
		if name := entry.Key.GetToken().Value; name != "speed" && name != "rate" {
			continue
		}
		node, ok := root.doc.follow(root, entry.Value)
		if !ok || node == nil {
			continue // the reader finds the fault again
		}
		if bits, err := rate(minRate).read(node.GetToken().Value); err == nil {
			entry.Value = ast.String(at(r.scaled(bits), lineOf(node, root.line)))
		}
	}
}

// scaled is a scaled rate as a file has it.
func (r *labReader) scaled(bits int64) string { return fmt.Sprint(int64(float64(bits) * r.scale)) }
