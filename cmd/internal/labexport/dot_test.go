package labexport

import (
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

func TestGraph(t *testing.T) {
	lab := assert.Got(config.ParseTopology("lab.yaml", []byte(`name: two
parts:
  left: {address: 192.0.2.1, nodes: [s1]}
  right: {address: 192.0.2.2, nodes: [s2]}
switches: {s1: {}, s2: {}}
hosts: {h1: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 200M}
  up: {ends: ["s1:up", "s2:up"], speed: 1G}
`), nil)).Must(t)
	const want = `graph "two" {
  node [shape=ellipse]
  subgraph "cluster_left" {
    label="left 192.0.2.1"
    "s1" [shape=box]
    "h1"
  }
  subgraph "cluster_right" {
    label="right 192.0.2.2"
    "s2" [shape=box]
  }
  "h1" -- "s1" [label="l1 200M", taillabel="eth0", headlabel="p1"]
  "s1" -- "s2" [label="up 1G", taillabel="up", headlabel="up", style=dashed]
}
`
	got := string(Graph(lab))
	assert.True(t, got == want, "got\n%s\nwant\n%s", got, want)
}
