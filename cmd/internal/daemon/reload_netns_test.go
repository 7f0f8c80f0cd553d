package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pfcswitch/dataplane"
)

// SIGHUP puts the file in force. An error in the file changes nothing, and an event says so.
func TestReloadOnHangup(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3, Each: At100M})
	file := filepath.Join(r.Dir, "new.yaml")
	r.d().followHangups(t.Context(), notifyHangups(), file)
	hangup := func(yaml, says string, reloaded func() bool) {
		t.Helper()
		before := r.Source().NextEvent()
		must(t, os.WriteFile(file, []byte(yaml), 0o600))
		must(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		eventually(t, says, func() bool {
			return reloaded() && slices.ContainsFunc(r.Source().Events(before), func(e dataplane.Event) bool {
				return e.Kind == dataplane.EventConfig && strings.Contains(e.Text, says)
			})
		})
	}
	mtu := func() int { return r.d().published.Load().cfg.Ports[0].MTU }
	at100M := mtu()
	hangup(Setup{Keys: Lossless3, Each: At100M + ", mtu: 1400"}.YAML(r.Rig, 2), "a new configuration is in force",
		func() bool { return mtu() == 1400 && at100M != 1400 })
	hangup("ports: {p1: {mtu: x}}", "new.yaml:1: ports.p1.mtu", func() bool { return mtu() == 1400 })
}
