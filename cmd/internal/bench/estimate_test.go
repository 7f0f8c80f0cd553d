package bench

import (
	"io"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
	"time"
)

// Every part takes time, twice the rounds twice as much, but for the idle fabrics, which are measured once. A peer that
// is missing takes none.
func TestEstimate(t *testing.T) {
	usual, twice := benchWith(t, ""), benchWith(t, "--rounds 14")
	said := usual.estimate()
	for _, p := range parts {
		once := usual.estimatePart(p.name)
		assert.True(t, once >= 10*time.Second && once <= 2*time.Hour && strings.Contains(said, p.name),
			"%s takes %v: %s", p.name, once, said)
		got := twice.estimatePart(p.name)
		if p.name == "fabric" {
			assert.True(t, got == once, "%s takes %v, and with twice the rounds %v", p.name, once, got)
		} else if got < 2*once-max(2*learning, usual.opt.defaults()) || got > 2*once {
			t.Errorf("%s takes %v, and with twice the rounds %v", p.name, once, got)
		}
	}
	ofAll, memory := usual.estimatePart("frames"), usual.opt.defaults()
	usual.peers = peers{}
	if memory <= 0 || usual.estimatePart("tcp") != 0 || usual.estimatePart("frames")-memory != (ofAll-memory)/2 ||
		benchWith(t, "--switches bridge").opt.defaults() != 0 {
		t.Errorf("without peers: %s", usual.estimate())
	}
}

// benchWith has all peers and these options.
func benchWith(t *testing.T, args string) *bench {
	t.Helper()
	o := assert.Got(parseOptions(strings.Fields(args), io.Discard)).Must(t)
	return &bench{opt: o, peers: peers{ovs: "x", iperf3: "x"}}
}
