package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestSpell(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"sh po", "show ports"},
		{"show pf", "show pfc"},
		{"show pfc cou -j", "show pfc counters -j"},
		{"show pfcwd", "show watchdog"},
		{"pfcwd show stats", "show watchdog stats"},
		{"pfcwd show config --port p1", "show watchdog config --port p1"},
		{"show interfaces counters", "show ports counters"},
		{"show interfaces status", "show ports status"},
		{"show queue counters", "show queues counters"},
		{"show lldp table", "show lldp table"},
		{"show lldp neighbors", "show lldp neighbors"},
		{"sh buf", "show buffer"},
		{"sh buffer-", "show buffer-pool"},
		{"sh pri per head", "show priority-group persistent-watermark headroom"},
		{"show -s po po", "show -s po ports"},
		{"show -js po po", "show -js po ports"},
		{"show --socket=po po", "show --socket=po ports"},
		{"show pfc --watch 2 --port p1", "show pfc --watch=2 --port p1"},
		{"show -w 500ms po", "show --watch=500ms ports"},
		{"show -w po", "show -w ports"},
		{"pfc counters", "show pfc counters"},
		{"po", "show ports"},
		{"pfcwd -j", "show watchdog -j"},
		{"fd --port p1", "show fdb --port p1"},
		{"buf show", "show buffer"},
		{"ports -j show", "show ports -j"},
		{"pfc show counters", "show pfc counters"},
		{"prio water sh", "show priority-group watermark shared"},
		{"ev --since 3", "events --since 3"},
		{"help po", "help show ports"},
		{"cl wat", "clear watermarks"},
		{"ver -j", "version -j"},
		{"help sh po", "help show ports"},
		{"fdb -w show 2", "show fdb --watch=1s 2"},
		{"check sh", "check sh"},
		{"show -- po", "show -- po"},
		{"", ""},
		{"sim paper.yaml", "sim paper.yaml"},
		{"sim paper headroom", "sim paper headroom-use"},
	} {
		got, err := expandWords(rootCommand(), strings.Fields(tt.in))
		assert.True(t, err == nil && strings.Join(got, " ") == tt.want,
			"%s: %s, %v, want %s", tt.in, strings.Join(got, " "), err, tt.want)
	}
}

func TestSpellRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"s", "send, show, sim, sink"},
		{"p", "p: that may be pfc, ports, priority-group"},
		{"show p", "show p: that may be pfc, ports, priority-group"},
		{"shwo", "did you mean show?"},
		{"show prots -j", "did you mean ports?"},
		{"show ports -w 0.01", "-w 0.01: write seconds, or a time such as 500ms, from 100ms to 24h"},
		{"show --watch 2x ports", "--watch 2x: write seconds"},
		{"po -w show 2", "show ports 2: there is no such command: there are counters, status"},
		{"gossip", "there is no such command: there are apply, capture, check, clear"},
		{"show gossip", "show gossip: there is no such command: there are buffer, buffer-pool, config, events, fdb, " +
			"headroom, history, lldp, pfc, ports, priority-group, queues"},
	} {
		got, err := expandWords(rootCommand(), strings.Fields(tt.in))
		assert.Fails(t, err, tt.want, "%s: %v", tt.in, got)
	}
}

// Expanded words expand to themselves.
func TestSpellIsStable(t *testing.T) {
	words := []string{"show", "ports", "po", "s", "pfc", "watch", "-w", "--watch", "2", "0.01", "-j", "-s", "--socket",
		"x", "--", "-", "", "clear", "w", "help", "events", "--port=p1"}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "words")
		once, err := expandWords(rootCommand(), in)
		if err != nil {
			return
		}
		if again, err := expandWords(rootCommand(), once); err != nil || !slices.Equal(once, again) {
			t.Fatalf("%q is spelled %q, and that %q, %v", in, once, again, err)
		}
	})
}

// The shell completes after abbreviated words, and at once where no switch answers.
func TestCompletion(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("PFCSWITCH_SOCKET", "/no/such.sock")
	for _, tt := range []struct {
		words []string
		want  []string
	}{
		{[]string{"sh", "p"}, []string{"pfc\t", "ports\t", "priority-group\t"}},
		{[]string{"po"}, []string{"ports\tshow: ports"}},
		{[]string{"ev"}, []string{"events\tfollow"}},
		{[]string{"po", "--port", ""}, []string{":4"}},
		{[]string{"sh", "pri", "w", ""}, []string{"headroom\t", "shared\t"}},
		{[]string{"show", "pfc", "--priority", ""}, []string{"0\n", "7\n"}},
		{[]string{"show", "--port", ""}, []string{":4"}},
		{[]string{"cl", "c"}, []string{"counters"}},
		{[]string{"linkcheck", ""}, []string{":4"}},
		{[]string{"explain", "--in", ""}, []string{":4"}},
		{[]string{"explain", "-c", ""}, []string{"yaml", ":8"}},
		{[]string{"run", "-c", ""}, []string{"yaml", ":8"}},
		{[]string{"doctor", ""}, []string{"yaml", ":8"}},
	} {
		root := rootCommand()
		args := assert.Got(expandArguments(root, append([]string{cobra.ShellCompRequestCmd}, tt.words...))).Must(t)
		var out bytes.Buffer
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(&out)
		assert.NoError(t, root.Execute(), "%q", tt.words)
		for _, want := range tt.want {
			assert.Contains(t, out.String(), want, "%q", tt.words)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out bytes.Buffer
		root := rootCommand()
		root.SetArgs([]string{"completion", shell})
		root.SetOut(&out)
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), "pfcswitch") {
			t.Errorf("completion %s: %v, %d bytes", shell, err, out.Len())
		}
	}
}
