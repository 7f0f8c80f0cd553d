package metrics

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
)

// A Config gives a Collector its sources. Every scrape calls the functions, from several goroutines at once.
type Config struct {
	// Snapshot fills a snapshot of the switch.
	Snapshot func(*dataplane.Snapshot)
	// Ports returns the configured ports, also those whose interface does not exist yet. nil: only the snapshot's
	// ports.
	Ports func() []Port
	// KernelBacklog returns how many frames the kernel dropped before any ring since its boot: the sum of column 2 of
	// /proc/net/softnet_stat. nil: not exported.
	KernelBacklog func() uint64
	// MissingFrames returns how many frames captures missed. SlowReaders returns how many slow readers of events were
	// cut off. nil: not exported.
	MissingFrames, SlowReaders func() uint64
	// Watchdog returns the state of every watched egress queue; nil: there is no watchdog.
	Watchdog func() []deadlock.Status
	// Switch is the switch's name. Version and Revision name the program. Started is when its counters began.
	Switch, Version, Revision string
	Started                   time.Time
}

// A Port is what only the daemon knows of a configured port.
type Port struct {
	Name string
	// Calculated is its headroom by formula; zero: not known.
	Calculated headroom.Calculation
	// Headroom is the report of the port's Probe; nil: the port does not measure.
	Headroom *headroom.Report
	// LLDP has the port's neighbours; nil where the port speaks no LLDP.
	LLDP *LLDP
}

// LLDP is what a port knows of its neighbours.
type LLDP struct {
	Neighbors int
	Mismatch  bool // the two ends do not agree which priorities are lossless
}

// A Collector exports a switch. Between scrapes it keeps nothing but how long the last one was. It is safe for
// concurrent use.
type Collector struct {
	cfg  Config
	last atomic.Pointer[lengths]
}

// NewCollector returns a collector.
func NewCollector(cfg Config) *Collector { return &Collector{cfg: cfg} }

// collect takes one snapshot and turns it into metrics.
func (c *Collector) collect() *output {
	var v dataplane.Snapshot
	c.cfg.Snapshot(&v)
	o := newOutput(c.cfg.Started, c.last.Load())
	c.collectSwitch(o, &v)
	for i := range v.Ports {
		collectPort(o, &v.Ports[i])
	}
	for i := range v.Buffer.Ports {
		if p := &v.Buffer.Ports[i]; !p.Removed {
			collectIngress(o, p)
		}
	}
	for i := range v.Trunks {
		collectTrunk(o, &v.Trunks[i])
	}
	if c.cfg.Watchdog != nil {
		collectWatchdog(o, c.cfg.Watchdog())
	}
	if c.cfg.Ports != nil {
		collectConfiguredPorts(o, c.cfg.Ports(), &v)
	}
	c.last.Store(o.lengths())
	return o
}

func (c *Collector) collectSwitch(o *output, v *dataplane.Snapshot) {
	o.value(up, 1)
	o.value(buildInfo, 1, c.cfg.Switch, c.cfg.Version, c.cfg.Revision, runtime.Version())
	collectPools(o, &v.Buffer)
	o.histogram(xoffReaction, &v.Xoff)
	o.histogram(xoffArrivalReaction, &v.XoffAge)
	lost, discarded := v.Losses()
	o.value(allLosslessDrops, float64(lost))
	o.value(allLosslessDiscarded, float64(discarded))
	o.value(fdbEntries, float64(v.Bridge.Entries))
	o.value(fdbMoves, float64(v.Bridge.Moves))
	o.value(fdbHolds, float64(v.Bridge.Holds))
	o.value(fdbRefusedMoves, float64(v.Bridge.Refused))
	o.value(fdbNotLearned, float64(v.Bridge.Full))
	o.value(fdbForgotten, float64(v.Bridge.Forgot))
	for _, source := range []struct {
		f     *family
		count func() uint64
	}{
		{kernelBacklogDrops, c.cfg.KernelBacklog}, {captureMissing, c.cfg.MissingFrames},
		{eventReadersCut, c.cfg.SlowReaders},
	} {
		if source.count != nil {
			o.value(source.f, float64(source.count()))
		}
	}
}

func collectPools(o *output, b *buffer.Snapshot) {
	segment := func(pool, name string, size int64, l buffer.Level) {
		o.value(bufferSize, float64(size), pool, name)
		o.value(bufferUsed, float64(l.Now), pool, name)
		o.value(bufferUsedMax, float64(l.Persistent), pool, name)
	}
	segment("lossless", "private", b.Lossless.PrivateSize, b.Lossless.Used.Private)
	segment("lossless", "shared", b.Lossless.SharedSize, b.Lossless.Used.Shared)
	segment("lossless", "headroom", b.Lossless.HeadroomSize, b.Lossless.Used.Headroom)
	segment("lossy", "shared", b.Lossy.SharedSize, b.Lossy.Used.Shared)
}

// collectConfiguredPorts exports what only the daemon knows: ports without an interface, LLDP and headroom.
func collectConfiguredPorts(o *output, ports []Port, v *dataplane.Snapshot) {
	attached := make(map[string]*dataplane.PortSnapshot, len(v.Ports))
	for i := range v.Ports {
		attached[v.Ports[i].Config.Name] = &v.Ports[i]
	}
	for _, p := range ports {
		if p.LLDP != nil {
			o.value(lldpNeighbors, float64(p.LLDP.Neighbors), p.Name)
			o.value(dcbxMismatch, boolValue(p.LLDP.Mismatch), p.Name)
		}
		a := attached[p.Name]
		if a == nil {
			o.value(portUp, 0, p.Name)
			continue
		}
		collectHeadroom(o, &p, &a.Config)
	}
}

// collectHeadroom exports what the daemon knows of a port's headroom.
func collectHeadroom(o *output, p *Port, c *dataplane.PortConfig) {
	r, measured := p.Headroom, int64(0)
	if r != nil {
		measured = headroom.Octets(max(r.Measured.Bits(), r.Received))
	}
	for _, label := range ingressQueues(c) {
		if n := p.Calculated.Bytes(); n > 0 {
			o.value(headroomCalculated, float64(n), p.Name, label)
		}
		if measured > 0 {
			o.value(headroomMeasured, float64(measured), p.Name, label)
		}
	}
	if r != nil {
		o.value(headroomManual, boolValue(r.ManualRequired), p.Name)
		collectMeasurement(o, p.Name, &r.Counters)
		collectMeasured(o, p)
	}
}

// collectMeasurement exports the measurement frames of a port by outcome.
func collectMeasurement(o *output, port string, c *headroom.Counters) {
	for _, count := range []struct {
		outcome string
		n       uint64
	}{
		{"asked", c.Asked}, {"answered", c.Answered}, {"lost", c.Lost},
		{"replied", c.Replies}, {"results", c.Results}, {"streams", c.Streams},
	} {
		o.value(headroomMessages, float64(count.n), port, count.outcome)
	}
	for why, n := range c.Ignored {
		o.value(headroomMessages, float64(n), port, headroom.Ignored(why).String())
	}
}

// collectWatchdog exports every egress queue that is watched for deadlocks, also the zeros.
func collectWatchdog(o *output, queues []deadlock.Status) {
	for i := range queues {
		s := &queues[i]
		label := strconv.Itoa(int(s.Queue))
		if s.Queue == deadlock.All {
			label = all
		}
		o.value(watchdogDetected, float64(s.Detected), s.Name, label)
		o.value(watchdogRecovered, float64(s.Recovered), s.Name, label)
		o.value(watchdogRecurred, float64(s.Recurred), s.Name, label)
		o.value(watchdogSent, float64(s.Sent), s.Name, label)
		o.value(watchdogDropped, float64(s.Dropped), s.Name, label)
		o.value(watchdogBlocked, boolValue(s.Blocked()), s.Name, label)
	}
}
