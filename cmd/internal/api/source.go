package api

import (
	"context"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
)

// A Source is the daemon for the Server. Its methods are called concurrently, except Apply, which runs once at a time.
type Source interface {
	// Name is the switch's name in the configuration.
	Name() string
	// Ports returns the configured ports in the order of the file, also those whose interface does not exist.
	Ports() []PortInfo
	// Snapshot fills v.
	Snapshot(v *dataplane.Snapshot)
	// RemovedCounters returns the counters of removed ports and trunks: ports and trunks of the same names continue
	// from them.
	RemovedCounters() *dataplane.Snapshot
	// KernelBacklogDrops counts frames that the kernel dropped before any receive ring, on the whole machine since its
	// boot.
	KernelBacklogDrops() uint64
	// Headroom returns what is known of the headroom of every port with flow control, in the order of the file.
	Headroom() []HeadroomInfo
	// RetiredProbes returns what was counted of measurement frames at ports that are gone: they continue when they come
	// back.
	RetiredProbes() map[string]headroom.Counters
	// Threads returns what can be seen of the threads that move the frames. It waits for no lock.
	Threads() []Thread
	// FDB returns the entries of the filtering database, in any order.
	FDB() []bridge.Entry
	// Watchdog returns the state of every lossless egress queue of the ports that are configured, by port and queue.
	Watchdog() []deadlock.Status
	// RetiredStorms returns the counts of queues that are no longer watched; they continue when they are watched again.
	RetiredStorms() []deadlock.Status
	// Events returns the events from sequence number since on, oldest first, as far as they are kept.
	Events(since uint64) []dataplane.Event
	// NextEvent returns the sequence number that the next event will have.
	NextEvent() uint64
	// LLDP returns what the ports send and receive by LLDP, in the order of the file. Ports without LLDP are left out.
	LLDP() []LLDPPort
	// Trace describes what would become of a frame now; ok is false if there is no such port.
	Trace(q TraceRequest) (f dataplane.TraceResult, ok bool)
	// WallOf returns the real time of a moment of the switch's clock.
	WallOf(ns int64) time.Time
	// ConfigYAML returns the configuration in force, with every key.
	ConfigYAML() []byte
	// Apply puts a configuration in force and returns when it is, with warnings, changes and ports that it resets; on
	// error the old one stays. name stands for the file in messages. With dry it only says what it would do.
	Apply(ctx context.Context, name string, yaml []byte, dry bool) (*Applied, error)
	// Restart reads the file of the switch, and returns what ends the switch and starts it again with that.
	Restart() (begin func(), err error)
	// ClearWatermarks starts the user watermarks of the buffer again.
	ClearWatermarks()
	// CheckHeadroom checks the headroom of a port by experiment, and returns the result.
	CheckHeadroom(ctx context.Context, ask HeadroomCheckRequest) (*HeadroomCheck, error)
	// Tap is where captures attach, and Interfaces appends the ports as they describe them.
	Tap() *capture.Tap
	// Keeps tells whether the last frames are kept all the time: capture.ring.
	Keeps() bool
	Interfaces([]capture.Interface) []capture.Interface
}

// PortInfo is what the daemon knows of a configured port and the data plane does not.
type PortInfo struct {
	Name      string
	Interface string // of Linux
	Netns     string // "" is the daemon's own
	Kind      string
	Mismatch  bool   // its neighbor does not agree with it which priorities are lossless
	State     string // why the port is not in service; "" if it is
	NoAssist  string // why no program in the kernel helps it: a few words, a colon, a remedy; "" if one does
}
