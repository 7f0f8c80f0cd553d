package api

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Health tells whether the switch is ready: every port is in service.
type Health struct {
	Header
	Status          string   `json:"status"` // ok, or waiting: for Waiting
	Ready           bool     `json:"ready"`
	PortsConfigured int      `json:"ports_configured"`
	PortsUp         int      `json:"ports_up"`
	Waiting         []Absent `json:"waiting"`
}

// Absent is a port that is not in service.
type Absent struct {
	Port   string `json:"port"`
	Reason string `json:"reason"`
}

func (m *moment) readHealth() *Health {
	h := &Health{Header: m.Header, Status: "ok", Ready: true}
	for _, p := range m.readPorts().Ports {
		h.PortsConfigured++
		if p.Up {
			h.PortsUp++
			continue
		}
		h.Status, h.Ready = "waiting", false
		h.Waiting = append(h.Waiting, Absent{p.Port, *p.Reason})
	}
	return h
}

// Text implements Reply.
func (h *Health) Text() string {
	t := newTable("PORT", "WAITING FOR")
	for _, p := range h.Waiting {
		t.row(p.Port, p.Reason)
	}
	return sections(fmt.Sprintf("%s%s: %d of %d ports up\n", h.headline(), h.Status, h.PortsUp, h.PortsConfigured),
		section{"", t})
}

// Version says what runs, and on what.
type Version struct {
	Schema   int     `json:"schema"`
	Version  string  `json:"version"`  // "(devel)" where it was built from a plain source tree
	Revision *string `json:"revision"` // of the source; null where the build does not know it
	Date     *string `json:"date"`     // of Revision, as RFC 3339 has it; null likewise
	Modified bool    `json:"modified"` // the source was changed after Revision
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
	Kernel   string  `json:"kernel"`
}

// release is the version of a package or an image: -ldflags "-X pfcswitch/cmd/internal/api.release=v1.2.3". Without it
// Go's own word counts: the tag of the commit, or a version made of its date and hash.
var release string

// ThisVersion describes the running program.
func ThisVersion() Version {
	v := Version{Schema: Schema, Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" +
		runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.read(info)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		v.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return v
}

func (v *Version) read(info *debug.BuildInfo) {
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	v.Version = cmp.Or(release, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = nonZero(s.Value)
		case "vcs.time":
			v.Date = nonZero(s.Value)
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
}

func (m *moment) readVersion() *Version {
	v := m.version
	return &v
}

// Text implements Reply.
func (v *Version) Text() string {
	revision := optionalText(v.Revision)
	if v.Date != nil {
		revision += " of " + *v.Date
	}
	if v.Modified {
		revision += ", modified"
	}
	return fmt.Sprintf("pfcswitch %s (commit %s, %s, %s, kernel %s)\n", v.Version, revision, v.Go, v.Platform, v.Kernel)
}
