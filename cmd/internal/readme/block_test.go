package readme

import (
	"fmt"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestBlocks(t *testing.T) {
	got, err := Blocks("x.md", "text\n<!-- test: switch, output -->\n\n```console\n$ a \\\n  b\nprints\n$ "+
		"c\n```\n```\nplain\n```\n<!-- test: not here: a, b -->\n```sh\nx\n```\n")
	assert.Must(t, err)
	want := []Block{
		{"x.md", 5, []string{"console"}, "$ a \\\n  b\nprints\n$ c\n", []string{"switch", "output"}},
		{"x.md", 11, []string{}, "plain\n", nil},
		{"x.md", 15, []string{"sh"}, "x\n", []string{"not here: a, b"}},
	}
	assert.True(t, fmt.Sprint(got) == fmt.Sprint(want), "got  %+v\nwant %+v", got, want)
	commands := []command{{5, "a \\\n  b", []string{"prints"}}, {8, "c", nil}}
	if got := got[0].commands(); fmt.Sprint(got) != fmt.Sprint(commands) {
		t.Errorf("got  %+v\nwant %+v", got, commands)
	}
	_, err = Blocks("x.md", "```sh\nx\n")
	assert.True(t, err != nil, "a block without an end is taken")
}

func TestMissing(t *testing.T) {
	printed := "PORT  FRAMES\np1       12\np2   3.4 MB\n\nlast\n    0 ####  12\n   50 took 3.4µs\n"
	for _, tt := range []struct {
		promised []string
		want     string
	}{
		{[]string{"PORT FRAMES", "p1  99", "…", "last"}, ""},
		{[]string{"p2   1.0 MB"}, ""},
		{[]string{"last", "PORT FRAMES"}, "PORT FRAMES"},
		{[]string{"p1 twelve"}, "p1 twelve"},
		{[]string{"0 #  1", "20 ##  4", "9 took 12s"}, ""},
		{[]string{"PORT …", "p1 …", "las…"}, ""},
		{[]string{"FRAMES…"}, "FRAMES…"},
		{[]string{"9 took 12sheep"}, "9 took 12sheep"},
	} {
		assert.Equal(t, missing(tt.promised, printed), tt.want, "%q", tt.promised)
	}
}

func TestValue(t *testing.T) {
	b := Block{marks: []string{"switch", "before nic", "status 1"}}
	if b.value("before") != "nic" || b.value("status") != "1" || b.value("switch") != "" || b.value("by") != "" {
		t.Errorf("%q %q %q", b.value("before"), b.value("status"), b.value("switch"))
	}
}

func TestStray(t *testing.T) {
	got := stray("$ a\n```console\n$ b\n```\n    $ c\n```text\n  $ d\n```\n```console\n$ e\n```\ntext with $ f\n")
	want := []int{1, 5, 7}
	assert.True(t, slices.Equal(got, want), "got %v, want %v", got, want)
}
