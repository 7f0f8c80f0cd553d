package demo

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
)

// The ring: three switches, each with a sender and a receiver. Frames for another switch go on to the next one, so that
// the buffers wait for each other in a circle (a cyclic buffer dependency). Static FDB entries are the routes; nothing
// is flooded or learned.
//
//	h1 ─ s1 ─ r1        s1 ──▶ s2 ──▶ s3 ──▶ s1
//	    ╱  ╲             flow of two hops:  h1 > r3, h2 > r1, h3 > r2
//	  s3 ── s2           victim of one hop: h1 > r2, h2 > r3, h3 > r1
const ringSwitches = 3

// Thresholds of the ring at ringSpeed. They grow with the speed, but hold some tens of frames at the slowest: of fewer,
// by chance none may wait for the next link. The threshold of a host is far below that of a link of the ring. So
// ordinarily only hosts are paused, though the ring is full: about a host's threshold waits for the next link. Blocked
// receivers fill the rest. A link of the ring is released only when it is almost empty: frames for the next link keep
// it paused.
const (
	ringSpeed         = 200_000_000
	minThresholdSpeed = 100_000_000 // speed below which thresholds do not shrink
	hostXoff          = 64 << 10
	hostXon           = 48 << 10
	minHeadroom       = 32 << 10
	hostHeadroom      = 64 << 10 // headroom: three senders share a host, and each has its own burst
	ringXoff          = 256 << 10
	ringXon           = 8 << 10
	ringPool          = 2 << 20 // thresholds of all ports and their headrooms: no queue waits for the room of others
)

// size is a threshold, in octets, at the ring's speed.
func (g *ring) size(octets int64) int64 {
	return int64(float64(octets) * float64(max(g.speed, minThresholdSpeed)) / ringSpeed)
}

// next is the switch, 0 to 2, that k sends to.
func next(k int) int { return (k + 1) % ringSwitches }

// Addresses of the senders' and receivers' interfaces, and one that no station has: frames to it circle.
func senderMAC(k int) net.HardwareAddr   { return net.HardwareAddr{2, 0, 0, 1, 0, byte(k + 1)} }
func receiverMAC(k int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 2, 0, byte(k + 1)} }

var unknownMAC = net.HardwareAddr{2, 0, 0, 3, 0, 1}

// A ring is the network of a phase.
type ring struct {
	*phase
	watchdog string    // its value in the configuration
	hosts    []station // that send, by switch
}

// addRing makes nodes, links, the switches' configurations and the sinks.
func (p *phase) addRing(watchdog string, sinkArgs func() []string) *ring {
	g := &ring{phase: p, watchdog: watchdog}
	for k := range ringSwitches {
		s := p.addSwitch(fmt.Sprintf("s%d", k+1), "")
		s.config = func() string { return s.head() + g.config(k) }
		g.hosts = append(g.hosts, p.addHost(fmt.Sprintf("h%d", k+1), s, "host", p.speed, senderMAC(k)))
		p.addSink(p.addHost(receiver(k), s, "sink", p.speed, receiverMAC(k)), sinkArgs)
	}
	for k, s := range p.switches {
		p.joinSwitches(s, "out", p.switches[next(k)], "in", p.speed)
	}
	return g
}

// buildRing builds the ring and its senders, which send until end. The receivers hang once, and count until drained.
func buildRing(watchdog string, end, drained time.Duration) func(*phase) {
	return func(p *phase) {
		g := p.addRing(watchdog, func() []string {
			return append(p.sinkUntil(drained), "--block-at", p.stamp(trigger), "--block-for", blockTime.String())
		})
		for k := range ringSwitches {
			for _, l := range ringLoads(k) {
				g.addLoad(k, l, end)
			}
		}
	}
}

// A ringLoad is the load of one sender of the ring, in percent of the ports' speed.
type ringLoad struct {
	to    net.HardwareAddr
	sink  string        // the receiver that counts; empty: nobody does
	lasts time.Duration // 0: as long as the phase's load
	flows map[int]int64 // by priority
}

func receiver(k int) string { return fmt.Sprintf("r%d", k+1) }

// ringLoads are those at switch k: the flow of two hops, a surge of it, and the victim of one hop in both priorities.
// The surge alone keeps the ring's links full where senders get half of the CPU that they want.
func ringLoads(k int) []ringLoad {
	far, near := next(next(k)), next(k)
	return []ringLoad{
		{to: receiverMAC(far), sink: receiver(far), flows: map[int]int64{3: 30}},
		{to: receiverMAC(far), flows: map[int]int64{3: 60}, lasts: surgeEnd},
		{to: receiverMAC(near), sink: receiver(near), flows: map[int]int64{3: 5, 0: 5}},
	}
}

// addLoad adds a sender at switch k, which sends until end where its load does not say more.
func (g *ring) addLoad(k int, l ringLoad, end time.Duration) {
	e := g.addSender(g.hosts[k], l.sink, func() []string { return g.sendShares(l.to, l.flows, l.sink == "") })
	e.lasts = cmp.Or(l.lasts, end)
}

// sendShares are the arguments of a sender of flows by priority, in percent of the ports' speed.
func (p *phase) sendShares(to net.HardwareAddr, flows map[int]int64, noSink bool) []string {
	args := []string{"--to", to.String()}
	for _, priority := range slices.Sorted(maps.Keys(flows)) {
		args = append(args, "--flow", fmt.Sprintf("%d:rate=%d", priority, p.speed*flows[priority]/100))
	}
	if noSink {
		args = append(args, "--no-sink")
	}
	return args
}

// config is the file of switch k, but for the path of its socket.
func (g *ring) config(k int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "preset: roce\nwatchdog: %s\necn: {3: off}\n", g.watchdog)
	fmt.Fprintf(&b, "buffer: {lossless: {size: %d}, policy: static, xoff: %d, private: 0B}\nports:\n",
		g.size(ringPool), g.size(ringXoff))
	const fixed = "learning: off, flood: off, loop: off, " + longRing
	host := fmt.Sprintf("{3: {xoff: %d, xon: %d, headroom: %d}}", g.size(hostXoff), g.size(hostXon),
		max(minHeadroom, g.size(hostHeadroom)))
	fmt.Fprintf(&b, "  host: {speed: %d, %s, priorities: %s}\n", g.speed, fixed, host)
	fmt.Fprintf(&b, "  sink: {speed: %d, %s, priorities: %s}\n", g.speed, fixed, host)
	for _, p := range []string{"in", "out"} {
		fmt.Fprintf(&b, "  %s: {speed: %d, %s, priorities: {3: {xon: %d}}}\n", p, g.speed, fixed, g.size(ringXon))
	}
	fmt.Fprintf(&b, "fdb:\n")
	entry := func(mac net.HardwareAddr, port string) {
		fmt.Fprintf(&b, "  - {mac: %q, vlan: 1, port: %s}\n", mac.String(), port)
	}
	for j := range ringSwitches {
		host, sink := "out", "out"
		if j == k {
			host, sink = "host", "sink"
		}
		entry(senderMAC(j), host)
		entry(receiverMAC(j), sink)
	}
	entry(unknownMAC, "out")
	return b.String()
}
