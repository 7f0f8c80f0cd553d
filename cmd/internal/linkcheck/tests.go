package linkcheck

import (
	"fmt"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// pfc asks by the way of PFC frames and has the answer come by another, then the other way round.
func (c *checker) pfc() {
	if c.base == macctl.PathControl {
		c.add(api.LinkTest{Check: "pfc", Verdict: api.LinkPass, Out: "pass", Back: "pass",
			Text: "MAC Control frames pass both ways, though ordinary ones to 01-80-C2-00-00-0E do not"})
		return
	}
	_, out := c.request(request{path: macctl.PathControl, answerPath: c.base})
	_, back := c.request(request{path: c.base, answerPath: macctl.PathControl})
	c.passes[macctl.PathControl] = direction{out, back}
	t := api.LinkTest{Check: "pfc", Verdict: api.LinkPass, Out: passText(out), Back: passText(back), Text: "MAC Control frames pass both ways: PAUSE and PFC arrive"}
	if out && back {
		c.add(t)
		return
	}
	t.Verdict = api.LinkFail
	switch {
	case c.base == macctl.PathBridged:
		t.Text = "a bridge stands between the ends: it forwards ordinary frames, and eats those to 01-80-C2-00-00-01; no pause can work"
		t.Remedy = remedy(t.Verdict, "take the bridge out (ip link set IF nomaster at both of its ports) and join the two links, or put a pfcswitch in its place; group_fwd_mask cannot pass these frames")
	case out || back:
		t.Text = "MAC Control frames pass one way only: pauses work in that direction alone"
		t.Remedy = remedy(t.Verdict, "look at the end that does not get them: a NIC keeps them while its own flow control is on (ethtool -A IF rx off tx off; dcb pfc set dev IF prio-pfc all:off), or a filter drops EtherType 0x8808 (tc filter show dev IF ingress)")
	default:
		t.Text = "ordinary frames pass and MAC Control frames are eaten on the way: no pause can work"
		t.Remedy = remedy(t.Verdict, "a NIC keeps them while its own flow control is on (ethtool -A IF rx off tx off; dcb pfc set dev IF prio-pfc all:off); many MACs, and most tunnels, keep them always")
	}
	c.add(t)
}

func passText(passes bool) string {
	if passes {
		return "pass"
	}
	return "eaten"
}

// probePCP is the priority in the tag that is tried: not one that a default would give.
const probePCP = 5

// tag asks with a tag, and for an answer with the same.
func (c *checker) tag() {
	if c.base == macctl.PathControl {
		c.add(unknown("tag", "only MAC Control frames pass, and these have no tag"))
		return
	}
	tci := uint16(frame.MakeTCI(probePCP, false, c.o.VLAN))
	name := fmt.Sprintf("the 802.1Q tag (VLAN %d, PCP %d)", c.o.VLAN, probePCP)
	a, ok := c.request(request{path: c.base, answerPath: c.base, tagged: true, tci: tci})
	t := api.LinkTest{Check: "tag", Verdict: api.LinkFail, Out: "lost", Back: api.LinkUnknown}
	if !ok {
		t.Text = "tagged frames are dropped on the way, so that no priority in a tag arrives: " + name
		t.Remedy = remedy(t.Verdict, "let the VLAN pass: a NIC's filter (ethtool -K IF rx-vlan-filter off), the VLANs of a bridge between (bridge vlan add vid N dev IF), or ask for a VLAN that the link carries (--vlan N)")
		c.add(t)
		return
	}
	t.Out, t.Back = tagState(a.Tagged, a.TCI, tci), tagState(a.HasTag, a.Tag, tci)
	if t.Out == "kept" && t.Back == "kept" {
		t.Verdict, t.Text = api.LinkPass, name+" is kept both ways"
	} else {
		t.Text = name + " does not arrive as it was: priorities by PCP are lost or changed"
		t.Remedy = remedy(t.Verdict, "find what takes it away (a bridge port's PVID: bridge vlan show; tc vlan actions), or use trust: dscp at both ends, which needs no tag")
	}
	c.add(t)
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

// mtu finds the longest frames that pass. An answer is never longer than its request, so that the way back is known only as
// far as the way out reaches.
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
	t := api.LinkTest{Check: "mtu", Verdict: api.LinkPass, Out: fmt.Sprint(out - frame.HeaderOctets), Back: fmt.Sprint(back - frame.HeaderOctets)}
	if out == own && back == out {
		t.Text = fmt.Sprintf("frames as long as this end's MTU of %d pass both ways", own-frame.HeaderOctets)
		c.add(t)
		return
	}
	t.Verdict = api.LinkFail
	t.Text = fmt.Sprintf("this end's MTU is %d: longer frames than the other end, or something between, takes are dropped without a word", own-frame.HeaderOctets)
	t.Remedy = remedy(t.Verdict, fmt.Sprintf("make them alike: ip link set dev %s mtu %d, or raise what is smaller on the way (the interface and, of a switch, ports.NAME.mtu)", c.o.Interface, min(out, back)-frame.HeaderOctets))
	c.add(t)
}

// largest returns the largest n from low to high that passes, which low does and which is taken to be so for all below one
// that passes. The two ends and the usual lengths are tried first, since what does not pass costs time.
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

// checksum sends a frame whose checksum is left to the link, as a host's stack does by default.
func (c *checker) checksum() {
	if c.base == macctl.PathControl {
		c.add(unknown("checksum", "only MAC Control frames pass, and no stack leaves their checksums to the link"))
		return
	}
	a, ok := c.request(request{path: c.base, answerPath: c.base, partialChecksum: true})
	t := api.LinkTest{Check: "checksum", Verdict: api.LinkPass, Out: "right", Back: "not tried"}
	switch {
	case !ok:
		t.Verdict, t.Out, t.Text = api.LinkFail, "lost", "frames with unfinished checksums do not arrive at all"
	case a.Checksum == macctl.ChecksumRight:
		t.Text = "a checksum that this end's stack leaves to the link arrives finished"
	case a.Checksum == macctl.ChecksumUnfinished:
		t.Out, t.Text = "marked", "a checksum that this end's stack leaves to the link arrives unfinished, and marked so: a switch or a stack finishes it, a program on a raw socket may not"
	default:
		t.Verdict, t.Out, t.Text = api.LinkFail, "wrong", "a checksum that this end's stack leaves to the link arrives unfinished, and nothing says so: TCP and UDP drop such packets"
	}
	t.Remedy = remedy(t.Verdict, fmt.Sprintf("let this end finish its checksums: ethtool -K %s tx off", c.o.Interface))
	c.add(t)
}

func unknown(check, why string) api.LinkTest {
	return api.LinkTest{Check: check, Verdict: api.LinkUnknown, Out: api.LinkUnknown, Back: api.LinkUnknown, Text: why}
}
