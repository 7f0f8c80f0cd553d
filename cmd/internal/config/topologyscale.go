package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// rateKeys are the keys whose values are rates in bit/s.
var rateKeys = []string{"speed", "rate", "cir", "pir", "storm"}

// leastRate is the lowest that any of them may have.
const leastRate = 1000

// scaleRates scales the values of rateKeys in a document. Words such as none stay.
func (r *labReader) scaleRates(root value) {
	if r.scale == 1 || root.node == nil {
		return
	}
	for _, n := range ast.Filter(ast.MappingValueType, root.node) {
		entry := n.(*ast.MappingValueNode)
		if name := entry.Key.GetToken().Value; !slices.Contains(rateKeys, name) {
			continue
		}
		node, ok := root.doc.follow(root, entry.Value)
		if !ok || node == nil {
			continue // the reader finds the fault again
		}
		if bits, err := rate(leastRate).read(node.GetToken().Value); err == nil {
			entry.Value = ast.String(at(r.scaled(bits), lineOf(node, root.line)))
		}
	}
}

// scaled is a scaled rate as a file has it.
func (r *labReader) scaled(bits int64) string {
	return fmt.Sprint(max(leastRate, int64(float64(bits)*r.scale)))
}
