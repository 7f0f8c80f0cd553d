package config

import (
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Merges multiply: ten levels of ten would be 10^10 without a bound.
func TestMergesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("ports:\n  a0: &a0 {mtu: 1500}\n")
	for i := range 10 {
		name, below := string(rune('a'+i+1)), string(rune('a'+i))
		b.WriteString("  " + name + "0: &" + name + "0 {<<: [" + strings.TrimSuffix(strings.Repeat("*"+below+"0, ", 10),
			", ") + "]}\n")
	}
	_, _, err := Parse("merges.yaml", []byte(b.String()))
	assert.Fails(t, err, "<< merges", "error")
}

// A merge adds missing keys; the first source wins.
func TestMergePrecedence(t *testing.T) {
	c := mustParse(t, `
ports:
  p1: &a {mtu: 1000, pvid: 10}
  p2: &b {mtu: 2000, pvid: 20, storm: 2M}
  p3: {<<: [*a, *b], pvid: 30}
`)
	p := c.Ports[2]
	assert.True(t, p.MTU == 1000 && p.PVID == 30 && p.Storm == 2_000_000,
		"p3\n got mtu %d, pvid %d, storm %d\nwant 1000, 30, 2000000", p.MTU, p.PVID, p.Storm)
	assert.Equal(t, c.Errorf("ports.p3.pvid", "x").Line, 5, "line of its own key")
	assert.Equal(t, c.Errorf("ports.p3.mtu", "x").Line, 3, "line of a merged key")
}

func TestEveryWayToWriteAScalar(t *testing.T) {
	for _, text := range []string{"name: leaf1", "name: 'leaf1'", `"name": "leaf1"`, "name: !!str leaf1",
		"name: |-\n  leaf1", "{name: leaf1}", "name: &n leaf1", "name:\n  leaf1", "%YAML 1.2\n---\nname: leaf1",
		"---\nname: leaf1\n",
		"\ufeffports:\r\n  p1: {mtu: 9000}\r\nname: leaf1\r\n"} { // as editors of other systems write it
		c, _, err := Parse("test.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		assert.Equal(t, c.Name, "leaf1", "%q: name", text)
	}
}
