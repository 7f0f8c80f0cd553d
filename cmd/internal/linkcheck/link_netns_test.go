package linkcheck

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/daemon/daemontest"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// ip runs a command of iproute2 in a node.
func ip(t *testing.T, n *lab.Node, args string) {
	t.Helper()
	labtest.Run(t, n, append([]string{"ip"}, strings.Fields(args)...)...)
}

// Each length that does not pass takes three times the patience. Where all has to pass, no answer is too late.
const (
	patient   = 10 * time.Second
	impatient = 100 * time.Millisecond
)

// checkLink checks interface e0 of a node.
func checkLink(t *testing.T, n *lab.Node, patience time.Duration) map[string]api.LinkTest {
	t.Helper()
	o := DefaultOptions()
	o.Interface, o.Netns, o.Patience = "e0", n.Path(), patience
	return rows(t, &o)
}

func rows(t *testing.T, o *Options) map[string]api.LinkTest {
	t.Helper()
	w := assert.Got(Open(o.Netns, o.Interface)).Must(t)
	defer func() { _ = w.Close() }()
	r := assert.Got(Run(t.Context(), o, w, 99)).Must(t)
	t.Logf("\n%s", r.Text())
	all := map[string]api.LinkTest{}
	for _, c := range r.Checks {
		all[c.Check] = c
	}
	assert.True(t, r.RoundTrip == nil || (r.RoundTrip.Link.MinNs > 0 &&
		r.RoundTrip.Total.MinNs >= r.RoundTrip.Peer.MinNs && r.RoundTrip.KernelStamped != 0), "round trip %+v",
		r.RoundTrip)
	return all
}

// want compares verdict, out and back of a row; "" does not matter.
func want(t *testing.T, all map[string]api.LinkTest, check, verdict, out, back string) {
	t.Helper()
	c := all[check]
	assert.True(t, c.Verdict == verdict && (out == "" || c.Out == out) && (back == "" || c.Back == back),
		"%s: %s, out %s, back %s (%s); want %s, %s, %s", check, c.Verdict, c.Out, c.Back, c.Text, verdict, out, back)
}

// startAnswer answers on an interface until the test ends.
func startAnswer(t *testing.T, n *lab.Node, name string) {
	t.Helper()
	w := assert.Got(Open(n.Path(), name)).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); Answer(ctx, &macctl.DefaultMeasurementFormat, w) }()
	t.Cleanup(func() {
		cancel()
		<-done
		assert.Must(t, w.Close())
	})
}

// Two ends of a veth pair, one of which only answers: all passes; and where the ends have different MTUs that is what
// is found.
func TestPlainLink(t *testing.T) {
	l := labtest.New(t, "linkcheck")
	a, b := labtest.Node(t, l, "a"), labtest.Node(t, l, "b")
	assert.Must(t, l.Link(a, "e0", b, "e0", lab.LinkOptions{}))
	silent := checkLink(t, a, impatient)
	want(t, silent, "pfc", api.LinkUnknown, "unknown", "unknown")
	startAnswer(t, b, "e0")
	all := checkLink(t, a, patient)
	want(t, all, "pfc", api.LinkPass, "pass", "pass")
	want(t, all, "tag", api.LinkPass, "kept", "kept")
	want(t, all, "mtu", api.LinkPass, "1500", "1500")
	want(t, all, "checksum", api.LinkPass, "marked", "")
	want(t, all, "round-trip", api.LinkPass, "", "")
	ip(t, a, "link set e0 mtu 9000")
	// veth lets in what is a tag longer than its MTU
	want(t, checkLink(t, a, impatient), "mtu", api.LinkFail, "1504", "1500")
}

// A Linux bridge between the ends eats what pauses are sent to, and lets the rest pass, as long as its own ports' MTU
// does.
func TestBridgeBetween(t *testing.T) {
	l := labtest.New(t, "linkcheck")
	a, m, b := labtest.Node(t, l, "a"), labtest.Node(t, l, "m"), labtest.Node(t, l, "b")
	assert.Must(t, l.Link(a, "e0", m, "m1", lab.LinkOptions{}))
	assert.Must(t, l.Link(b, "e0", m, "m2", lab.LinkOptions{}))
	ip(t, m, "link add br0 type bridge")
	for _, args := range []string{"link set m1 master br0", "link set m2 master br0", "link set br0 up"} {
		ip(t, m, args)
	}
	startAnswer(t, b, "e0")
	labtest.Eventually(t, "the bridge's ports forward", func() bool {
		return checkLink(t, a, impatient)["tag"].Verdict == api.LinkPass
	})
	all := checkLink(t, a, impatient)
	want(t, all, "pfc", api.LinkFail, "eaten", "eaten")
	assert.Contains(t, all["pfc"].Text, "a bridge stands between", "pfc")
	want(t, all, "tag", api.LinkPass, "kept", "kept")
	ip(t, m, "link set m2 mtu 1400")
	want(t, checkLink(t, a, impatient), "mtu", api.LinkFail, "1404", "1404")
}

// A running switch answers on its ports, long frames and tagged ones too, and is asked from its own side by the name of
// a port.
func TestSwitchAnswers(t *testing.T) {
	l := labtest.New(t, "linkcheck")
	sw, h := labtest.Node(t, l, "sw"), labtest.Node(t, l, "h")
	assert.Must(t, l.Link(sw, "p1", h, "e0", lab.LinkOptions{MTU: 9000}))
	socket := filepath.Join(t.TempDir(), "s.sock")
	daemontest.Start(t, socket, fmt.Sprintf("preset: roce\nheadroom: {identifier: 02-50-47}\nports: {p1: {netns: %s, "+
		"mtu: 9000, delay: 1ms}}\n", sw.Path()))

	o := DefaultOptions()
	o.Interface, o.Netns, o.Format.Identifier = "e0", h.Path(), [3]byte{0x02, 0x50, 0x47}
	o.Patience = patient
	all := rows(t, &o)
	want(t, all, "pfc", api.LinkPass, "pass", "pass")
	want(t, all, "tag", api.LinkPass, "kept", "kept")
	want(t, all, "mtu", api.LinkPass, "9000", "9000")
	want(t, all, "checksum", api.LinkPass, "right", "")
	want(t, all, "round-trip", api.LinkPass, "", "")

	mine := DefaultOptions()
	mine.Patience = patient
	assert.Must(t, mine.OfPort(t.Context(), socket, "p1"))
	assert.True(t, mine.Interface == "p1" && mine.Netns == sw.Path() && mine.Format == o.Format,
		"port p1 is %s in %s with %v", mine.Interface, mine.Netns, mine.Format)
	assert.Fails(t, mine.OfPort(t.Context(), socket, "p9"), "there are p1", "port p9")
	w := assert.Got(Open(h.Path(), "e0")).Must(t)
	t.Cleanup(func() { assert.Must(t, w.Close()) })
	answering, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); Answer(answering, &o.Format, w) }()
	want(t, rows(t, &mine), "pfc", api.LinkPass, "pass", "pass")
	stop()
	<-ended
}
