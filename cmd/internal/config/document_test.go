package config

import (
	"strings"
	"testing"
)

// Input that would keep the YAML parser busy for minutes is refused.
func TestOversizedFilesAreRefused(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		want       string
	}{
		{"bytes", strings.Repeat("#\n", 200_000), 1, "at most 262144"},
		{"line", "name: x\n# " + strings.Repeat("x", 5000), 2, "at most 4096"},
		{"brackets", "name: x\nports: " + strings.Repeat("[", 100), 2, "brackets are open"},
		{"brackets over lines", strings.Repeat("{a:\n", 100), 33, "brackets are open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantFault(t, tt.text, tt.line, "", tt.want) })
	}
}

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
	if err == nil || !strings.Contains(err.Error(), "<< merges") {
		t.Errorf("got %v\nwant a fault about merges", err)
	}
}

// Files of other systems' editors are read: a byte order mark, lines that end in two characters.
func TestForeignEditors(t *testing.T) {
	if c := mustParse(t, "\ufeffname: leaf1\r\nports:\r\n  p1: {mtu: 9000}\r\n"); c.Name != "leaf1" ||
		c.Ports[0].MTU != 9000 {
		t.Errorf("got name %q, MTU %d", c.Name, c.Ports[0].MTU)
	}
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
	if p.MTU != 1000 || p.PVID != 30 || p.Storm != 2_000_000 {
		t.Errorf("p3\n got mtu %d, pvid %d, storm %d\nwant 1000, 30, 2000000", p.MTU, p.PVID, p.Storm)
	}
	if got, want := c.Errorf("ports.p3.pvid", "x").Line, 5; got != want {
		t.Errorf("line of its own key\n got %d\nwant %d", got, want)
	}
	if got, want := c.Errorf("ports.p3.mtu", "x").Line, 3; got != want {
		t.Errorf("line of a merged key\n got %d\nwant %d", got, want)
	}
}

func TestEveryWayToWriteAScalar(t *testing.T) {
	for _, text := range []string{"name: leaf1", "name: 'leaf1'", `"name": "leaf1"`, "name: !!str leaf1",
		"name: |-\n  leaf1", "{name: leaf1}", "name: &n leaf1", "name:\n  leaf1", "%YAML 1.2\n---\nname: leaf1",
		"---\nname: leaf1\n", "name: leaf1\r\n"} {
		c, _, err := Parse("test.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if c.Name != "leaf1" {
			t.Errorf("%q: name\n got %q\nwant leaf1", text, c.Name)
		}
	}
}
