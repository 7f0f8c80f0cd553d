package metrics

import (
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// sample is a switch with a port of each kind: p1 with PFC on priority 3, p2 with PAUSE, p3 with neither and down.
func sample(v *dataplane.Snapshot) {
	*v = dataplane.Snapshot{Time: 5e9}
	v.Bridge.Entries, v.Bridge.Moves, v.Bridge.Full = 17, 2, 1
	v.Xoff.Record(30_000)
	v.XoffAge.Record(70_000)
	v.LosslessDropsRemoved, v.LosslessDiscardedRemoved = 3, 20
	v.Ports = []dataplane.PortSnapshot{pfcPort(), pausePort(), offPort()}
	v.Trunks = sampleTrunks()
	v.Buffer = buffer.Snapshot{
		Lossless: buffer.PoolSnapshot{Size: 8 << 20, PrivateSize: 8192, SharedSize: 8000000, HeadroomSize: 380416,
			Used: buffer.Occupancy{Private: level(4096), Shared: level(100000), Headroom: level(512)}},
		Lossy: buffer.PoolSnapshot{Size: 4 << 20, SharedSize: 4 << 20, Used: buffer.Occupancy{Shared: level(1024)}},
		Ports: []buffer.PortSnapshot{
			{Name: "p1", Mode: macctl.ModePFC, Ingress: [8]buffer.QueueSnapshot{3: {Lossless: true,
				Config: buffer.QueueConfig{Headroom: 65536, Private: 4096},
				Used:   buffer.Occupancy{Private: level(4096), Shared: level(98304), Headroom: level(512)}}}},
			{Port: 1, Name: "p2", Mode: macctl.ModePause, Ingress: [8]buffer.QueueSnapshot{{Lossless: true,
				Config: buffer.QueueConfig{Headroom: 98304}, Used: buffer.Occupancy{Shared: level(1696)}}}},
			{Port: 2, Name: "p3"},
			{Port: 3, Name: "gone", Removed: true, Ingress: [8]buffer.QueueSnapshot{{Lossless: true}}},
		},
	}
}

// watched are the watchdog's queues of the sample.
func watched() []deadlock.Status {
	return []deadlock.Status{
		{Name: "p1", Queue: 3, State: deadlock.Stormed, Detected: 3, Recovered: 2, Sent: 55, Dropped: 66},
		{Name: "p1", Queue: 4, State: deadlock.Closed, Detected: 9, Recovered: 9, Recurred: 2},
		{Name: "p2", Queue: deadlock.All, State: deadlock.Operational, Detected: 1, Recovered: 1},
	}
}

// level holds n bytes, and had more at other times.
func level(n int64) buffer.Level {
	return buffer.Level{Now: n, Persistent: 4 * n, User: 3 * n, Window: 2 * n}
}

func pfcPort() dataplane.PortSnapshot {
	p := dataplane.PortSnapshot{
		Config: dataplane.PortConfig{Name: "p1", Speed: 1e9, Mode: macctl.ModePFC, Lossless: 1 << 3},
		Up:     true, Loop: bridge.LoopShut,
		Counters: dataplane.Counters{
			ReceivedFrames: 4021, ReceivedBytes: 6087794, SentFrames: 12, SentBytes: 768, Overspeed: 5,
			RingHoldNs: 1_250_000_000, RingHoldBytes: 3028, RingFramesMax: 96,
			QueueSent: [8]uint64{0: 4, 3: 8}, Marked: [8]uint64{3: 77}, QueueBytes: [8]int64{0: 64, 3: 1514},
			QueueBytesMax: [8]int64{0: 128, 3: 98410},
		},
		Received:    macctl.ReceiverCounters{PFCFrames: [8]uint64{3: 12, 4: 1}, PauseFrames: 2},
		ControlSent: macctl.InitiatorCounters{PFCFrames: [8]uint64{3: 40}},
		PausedNs:    [8]int64{3: 1_204_000}, HeldNs: [8]int64{3: 812_000_000},
	}
	p.Received.Ignored[macctl.ReasonDisabled] = 2
	p.Counters.Drops[0][dataplane.DropLossyThreshold] = 9
	p.Counters.Drops[3][dataplane.DropLosslessHeadroom] = 1
	p.Counters.Drops[dataplane.Unknown][dataplane.DropRing] = 6
	p.Counters.LosslessDrops = [9]uint64{3: 1, dataplane.Unknown: 4}
	p.Counters.Drops[3][dataplane.DropWatchdog], p.Counters.LosslessDiscarded[3][dataplane.DropWatchdog] = 625, 625
	for _, ns := range []int64{0, 1000, 12_000, 13_000, 40_000_000} {
		p.Reaction.Record(ns)
		p.Late.Record(ns / 2)
	}
	p.HeadroomUse[3] = dataplane.HeadroomUse{Xoffs: 9, Peak: 7002, LateXoffs: 6, Ring: 803, RingTotal: 1203,
		LateNs: 1_500_000, Waited: 4, WaitedBehindEarlier: 5, WaitedEarly: 8, WaitedForPool: 9, Exceeded: 2,
		LeastLeft: dataplane.XoffUse{Used: 7001, Room: 7000}}
	p.Config.Ingress[3].Xon = 6125
	p.Pauses.Record(1_204_000)
	p.Holds.Record(800_000_000)
	p.Holds.Record(12_000_000)
	return p
}

func pausePort() dataplane.PortSnapshot {
	p := dataplane.PortSnapshot{
		Index: 1, Up: true, PausedAllNs: 2_500_000_000, HeldAllNs: 1_000_000,
		Config:      dataplane.PortConfig{Name: "p2", Speed: 100e6, Mode: macctl.ModePause, Lossless: 0xff},
		Counters:    dataplane.Counters{ReceivedFrames: 7, ReceivedBytes: 448},
		Received:    macctl.ReceiverCounters{PauseFrames: 3},
		ControlSent: macctl.InitiatorCounters{PauseFrames: 4},
	}
	p.Counters.Drops[1][dataplane.DropFiltered] = 2
	p.Counters.Drops[6][dataplane.DropFiltered] = 3
	p.Counters.LosslessDrops = [9]uint64{2: 1, 5: 1}
	p.Counters.LosslessDiscarded[6][dataplane.DropFiltered] = 3
	return p
}

func offPort() dataplane.PortSnapshot {
	return dataplane.PortSnapshot{Index: 2, Config: dataplane.PortConfig{Name: "p3", Lossless: 1 << 3, TAP: true},
		Counters: dataplane.Counters{HostDrops: 31}}
}

// measured returns the report of a Probe that has measured.
func measured() *headroom.Report {
	in := headroom.Inputs{Speed: 1e9, MaxFrame: 1514, K: 99}
	found := headroom.Finding{RoundTrip: 50_000, Precision: 30, Reaction: 7000, SendLimit: 50_001, Burst: 2048}
	return &headroom.Report{
		Counters: headroom.Counters{Asked: 8, Ignored: [headroom.NumIgnored]uint64{headroom.IgnoredUnasked: 1}},
		Agreed:   true, PeerSilent: true, ControlDiscarded: true, ResultBits: 88_809,
		ResultAcked: true, Target: 88_816, Settings: headroom.Settings{Auto: true}, Finding: found, Xon: 7070,
		Plain: in.PlainBits(found), PeerFound: 88_001, Received: 88_808, Measured: headroom.Measure(in, found),
		RoundTrips: times(5, 10_000, 20_000, 30_000, 40_000, 50_000), Idle: times(5, 1000, 2000, 3000, 4000, 5000),
		Reactions: times(3, 100, 200, 300, 400, 500), ReactionsIdle: times(1, 100, 100, 100, 100, 100),
		ReactionsBusy: times(2, 200, 200, 300, 400, 500)}
}

func times(samples int, least, median, p99, p999, most time.Duration) headroom.Distribution {
	return headroom.Distribution{Samples: samples, Min: least, Median: median, P99: p99, P999: p999, Max: most}
}

// config is the configuration of a collector of sample.
func config() Config {
	return Config{
		Snapshot: sample,
		Ports: func() []Port {
			in := headroom.Inputs{Speed: 1e9, MaxFrame: 1518, Delay: 50_000, Burst: 62_500}
			pfc, pause := headroom.Calculate(in, macctl.ModePFC), headroom.Calculate(in, macctl.ModePause)
			return []Port{{Name: "p1", Calculated: pfc, Headroom: measured(), LLDP: &LLDP{Neighbors: 1}},
				{Name: "p2", Calculated: pause, Headroom: &headroom.Report{ManualRequired: true}},
				{Name: "p3", LLDP: &LLDP{Neighbors: 2, Mismatch: true}}, {Name: "p4", Calculated: pfc}}
		},
		Watchdog:      watched,
		KernelBacklog: func() uint64 { return 11 }, MissingFrames: func() uint64 { return 12 },
		SlowReaders: func() uint64 { return 13 },
		Switch:      "leaf1", Version: "v1.2.3", Revision: "0123abc", Started: started,
	}
}
