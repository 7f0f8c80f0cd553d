package api

import (
	"pfcswitch/dataplane/assert"
	"runtime/debug"
	"testing"
)

// A version says which commit it is of, and when that was made; a release has the version that its build was given.
func TestVersionOfBuild(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261127050000-0123abcd"}}
	info.Settings = []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-11-27T05:00:00Z"},
		{Key: "vcs.modified", Value: "true"}}
	for _, tt := range []struct{ release, version string }{
		{"", "v0.0.0-20261127050000-0123abcd"},
		{"v1.2.3", "v1.2.3"},
	} {
		release = tt.release
		v := Version{Version: "(devel)", Go: "go1.26", Platform: "linux/amd64", Kernel: "6.18"}
		v.read(info)
		want := "pfcswitch " + tt.version + " (commit 0123abcd of 2026-11-27T05:00:00Z, modified, go1.26, " +
			"linux/amd64, kernel 6.18)\n"
		got := v.Text()
		assert.True(t, got == want, "got  %swant %s", got, want)
	}
	release = ""
	v := Version{Version: "(devel)"}
	v.read(&debug.BuildInfo{})
	assert.True(t, v.Version == "(devel)" && v.Revision == nil && v.Date == nil, "a build that knows nothing: %+v", v)
}
