package linkcheck

import (
	"fmt"
	"slices"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// pfc sends a request on the path of PFC frames with the answer on another path, then the reverse.
func (c *checker) pfc() {
	if c.base == macctl.PathControl {
		c.add(api.LinkTest{Check: "pfc", Verdict: api.LinkPass, Out: "pass", Back: "pass",
			Text: "MAC Control frames pass both ways, though ordinary ones to 01-80-C2-00-00-0E do not"})
		return
	}
	_, out := c.request(request{path: macctl.PathControl, answerPath: c.base})
	_, back := c.request(request{path: c.base, answerPath: macctl.PathControl})
	c.controlPasses = out && back
	t := api.LinkTest{Check: "pfc", Verdict: api.LinkPass, Out: passText(out), Back: passText(back),
		Text: "MAC Control frames pass both ways: PAUSE and PFC arrive"}
	switch {
	case out && back:
		c.add(t)
	case c.base == macctl.PathBridged:
		c.addFailed(t, "a bridge stands between the ends: it forwards ordinary frames, and eats those to "+
			"01-80-C2-00-00-01; no pause can work",
			"take the bridge out (ip link set IF nomaster at both of its ports) and join the two links, or put a "+
				"pfcswitch in its place; group_fwd_mask cannot pass these frames")
	case out || back:
		c.addFailed(t, "MAC Control frames pass one way only: pauses work in that direction alone",
			"look at the end that does not get them: a NIC keeps them while its own flow control is on (ethtool -A "+
				"IF rx off tx off; dcb pfc set dev IF prio-pfc all:off), or a filter drops EtherType 0x8808 (tc "+
				"filter show dev IF ingress)")
	default:
		c.addFailed(t, "ordinary frames pass and MAC Control frames are eaten on the way: no pause can work",
			"a NIC keeps them while its own flow control is on (ethtool -A IF rx off tx off; dcb pfc set dev IF "+
				"prio-pfc all:off); many MACs, and most tunnels, keep them always")
	}
}

func passText(passes bool) string {
	if passes {
		return "pass"
	}
	return "eaten"
}

// probePCP is the priority in the tested tag: no default gives it.
const probePCP = 5

// tag sends a tagged request for an answer with the same tag.
func (c *checker) tag() {
	if c.base == macctl.PathControl {
		c.add(unknown("tag", "only MAC Control frames pass, and these have no tag"))
		return
	}
	tci := uint16(frame.MakeTCI(probePCP, false, c.o.VLAN))
	name := fmt.Sprintf("the 802.1Q tag (VLAN %d, PCP %d)", c.o.VLAN, probePCP)
	a, ok := c.request(request{path: c.base, answerPath: c.base, tagged: true, tci: tci})
	t := api.LinkTest{Check: "tag", Verdict: api.LinkPass, Out: "lost", Back: api.LinkUnknown}
	if !ok {
		c.addFailed(t, "tagged frames are dropped on the way, so that no priority in a tag arrives: "+name,
			"let the VLAN pass: a NIC's filter (ethtool -K IF rx-vlan-filter off), the VLANs of a bridge between "+
				"(bridge vlan add vid N dev IF), or ask for a VLAN that the link carries (--vlan N)")
		return
	}
	t.Out, t.Back = tagState(a.Tagged, a.TCI, tci), tagState(a.HasTag, a.Tag, tci)
	if t.Out == "kept" && t.Back == "kept" {
		t.Text = name + " is kept both ways"
		c.add(t)
		return
	}
	c.addFailed(t, name+" does not arrive as it was: priorities by PCP are lost or changed",
		"find what takes it away (a bridge port's PVID: bridge vlan show; tc vlan actions), or use trust: dscp at "+
			"both ends, which needs no tag")
}

func tagState(tagged bool, got, want uint16) string {
	switch {
	case !tagged:
		return "stripped"
	case got != want:
		t := frame.TCI(got)
		return fmt.Sprintf("changed to VLAN %d, PCP %d", t.VID(), t.PCP())
	}
	return "kept"
}

// mtu finds the longest frames that pass. An answer is never longer than its request, so the result for the way back is
// at most that of the way out.
func (c *checker) mtu() {
	own := c.wire.MaxFrame()
	out := largest(macctl.FrameSize, own, func(n int) bool {
		_, ok := c.request(request{path: c.base, answerPath: c.base, octets: n})
		return ok
	})
	back := largest(macctl.FrameSize, out, func(n int) bool {
		a, ok := c.request(request{path: c.base, answerPath: c.base, octets: out, answerOctets: n})
		return ok && a.Length == n
	})
	c.report.OutBytes, c.report.BackBytes = &out, &back
	t := api.LinkTest{Check: "mtu", Verdict: api.LinkPass, Out: fmt.Sprint(out - frame.HeaderOctets),
		Back: fmt.Sprint(back - frame.HeaderOctets)}
	if out == own && back == out {
		t.Text = fmt.Sprintf("frames as long as this end's MTU of %d pass both ways", own-frame.HeaderOctets)
		c.add(t)
		return
	}
	c.addFailed(t, fmt.Sprintf("this end's MTU is %d: longer frames than the other end, or something between, takes "+
		"are dropped without a word", own-frame.HeaderOctets),
		fmt.Sprintf("make them alike: ip link set dev %s mtu %d, or raise what is smaller on the way (the interface "+
			"and, of a switch, ports.NAME.mtu)", c.o.Interface, min(out, back)-frame.HeaderOctets))
}

// largest returns the largest n from low to high that passes. low passes, and so does every n below one that passes. It
// tries the ends and the usual lengths first, since a length that does not pass costs a timeout.
func largest(low, high int, passes func(int) bool) int {
	if passes(high) {
		return high
	}
	for _, n := range []int{1514, 9014} {
		switch {
		case n <= low || n >= high:
		case passes(n):
			low = n
		default:
			high = n
		}
	}
	for high-low > 1 {
		if n := (low + high) / 2; passes(n) {
			low = n
		} else {
			high = n
		}
	}
	return low
}

// checksum sends a frame whose checksum the link has to finish, as a host's stack does by default.
func (c *checker) checksum() {
	if c.base == macctl.PathControl {
		c.add(unknown("checksum", "only MAC Control frames pass, and no stack leaves their checksums to the link"))
		return
	}
	a, ok := c.request(request{path: c.base, answerPath: c.base, partialChecksum: true})
	t := api.LinkTest{Check: "checksum", Verdict: api.LinkPass, Out: "right", Back: "not tried"}
	finish := fmt.Sprintf("let this end finish its checksums: ethtool -K %s tx off", c.o.Interface)
	const left = "a checksum that this end's stack leaves to the link arrives "
	switch {
	case !ok:
		t.Out = "lost"
		c.addFailed(t, "frames with unfinished checksums do not arrive at all", finish)
		return
	case a.Checksum == macctl.ChecksumRight:
		t.Text = left + "finished"
	case a.Checksum == macctl.ChecksumUnfinished:
		t.Out, t.Text = "marked", left+"unfinished, and marked so: a switch or a stack finishes it, a program on a "+
			"raw socket may not"
	default:
		t.Out = "wrong"
		c.addFailed(t, left+"unfinished, and nothing says so: TCP and UDP drop such packets", finish)
		return
	}
	c.add(t)
}

func unknown(check, why string) api.LinkTest {
	return api.LinkTest{Check: check, Verdict: api.LinkUnknown, Out: api.LinkUnknown, Back: api.LinkUnknown, Text: why}
}

// reportSilence reports what is known of a link whose other end does not answer.
func (c *checker) reportSilence() {
	h := &c.counts
	known := fmt.Sprintf("this end's kernel took %d frames of %d", h.sent, h.sent+h.refused)
	switch {
	case h.sent == 0 && h.refusedErr != nil:
		known = fmt.Sprintf("this end's kernel takes no frame: %v", h.refusedErr)
	case h.frames == 0:
		known += ", and nothing at all came back: whether frames arrive there cannot be known from here"
	default:
		known += fmt.Sprintf(", and %d other frames came in meanwhile: the way back carries ordinary frames", h.frames)
	}
	pfc := unknown("pfc", known)
	if n := h.pause + h.pfc; n > 0 {
		pfc.Back = "pass"
		pfc.Text = fmt.Sprintf("%d PAUSE or PFC frames came in: they pass from there to here; whether ours arrive "+
			"there cannot be known from here", n)
	}
	do := "run one of these at the other end, then ask again: pfcswitch run, pfcswitch nic --wire IF, or pfcswitch " +
		"linkcheck --answer --interface IF"
	pfc.Remedy = &do
	c.add(pfc)
	c.add(unknown("tag", "only the other end can say with which tag a frame arrived"))
	c.add(unknown("mtu", fmt.Sprintf("this end takes frames of %d octets; only the other end can say what arrives",
		c.wire.MaxFrame())))
	c.add(unknown("checksum", "only the other end can say how a checksum arrived"))
	c.add(unknown("round-trip", "nothing came back"))
}

// maxTrips bounds the time of a check and the load on the other end.
const maxTrips = 10_000

var pathNames = [macctl.NumPaths]string{"control", "fallback", "bridged"}

// roundTrip measures the round-trip time, on the path of PFC frames where that passes.
func (c *checker) roundTrip() {
	way := c.base
	if c.controlPasses {
		way = macctl.PathControl
	}
	var total, link, peer []int64
	r := &api.LinkTrip{Way: pathNames[way], Octets: macctl.FrameSize, PrecisionNs: port.ClockStep(c.wire.Now)}
	answers := c.trips(way, r)
	r.Lost = r.Asked - len(answers)
	for _, a := range answers {
		whole, turn := a.received-a.sent, a.Sent-a.Received
		if whole <= 0 || turn < 0 || turn > whole { // a clock was set meanwhile
			r.Lost++
			continue
		}
		if a.kernelStamp {
			r.KernelStamped++
		}
		total, link, peer = append(total, whole), append(link, whole-turn), append(peer, turn)
	}
	t := api.LinkTest{Check: "round-trip", Verdict: api.LinkPass, Out: "-", Back: "-"}
	if len(total) == 0 {
		c.addFailed(t, "none of the frames came back", "the link loses all that is sent one after the other: look at "+
			"the counters of both interfaces (ip -s link show)")
		return
	}
	r.Total, r.Link, r.Peer = spreadOf(total), spreadOf(link), spreadOf(peer)
	c.report.RoundTrip = r
	t.Text = fmt.Sprintf("%d of %d came back", r.Asked-r.Lost, r.Asked)
	if r.Lost > 0 {
		c.addFailed(t, t.Text, "frames were lost: look at the counters of both interfaces (ip -s link show)")
		return
	}
	c.add(t)
}

// longestTrip is how long after the last round trip an answer may still come, in ns. Until then a busy machine may have
// kept it, which is no loss.
const longestTrip = 2e9

// trips makes the round trips, and returns the answers. The next one starts when the last is answered, or is overdue.
func (c *checker) trips(way macctl.EchoPath, r *api.LinkTrip) (answers []answer) {
	c.overdue, c.way = map[uint32]answer{}, way
	for range c.o.Count {
		c.rest(macctl.EchoInterval)
		r.Asked++
		a, ok := c.requestOnce(request{path: way, answerPath: way})
		switch {
		case ok:
			answers = append(answers, a)
		case a.sent != 0: // it has left
			c.overdue[c.sequence] = a
		}
	}
	for until := c.wire.Now() + longestTrip; c.ctx.Err() == nil && len(c.overdue) > 0 && c.wire.Now() < until; {
		c.rest(macctl.EchoInterval)
	}
	return append(answers, c.late...)
}

// spreadOf sorts samples and returns their quantiles.
func spreadOf(ns []int64) api.Spread {
	slices.Sort(ns)
	return api.Spread{Samples: len(ns), MinNs: ns[0], P50Ns: api.Quantile(ns, 500), P99Ns: api.Quantile(ns, 990),
		P999Ns: api.Quantile(ns, 999), MaxNs: ns[len(ns)-1]}
}
