package bench

import (
	"io"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
	"time"
)

// Every part takes time, twice the rounds twice as much, but for what is done once. A peer that
// is missing takes none.
func TestEstimate(t *testing.T) {
	usual, twice := benchWith(t, ""), benchWith(t, "--rounds 14")
	said := usual.estimate()
	takenOnce := map[string]time.Duration{"frames": usual.opt.defaults(), "fabric": usual.estimatePart("fabric"),
		"incast": startsFabric, "fdb": learning}
	for _, p := range parts {
		once := usual.estimatePart(p.name)
		assert.True(t, once >= 10*time.Second && once <= 2*time.Hour && strings.Contains(said, p.name),
			"%s takes %v: %s", p.name, once, said)
		assert.Equal(t, twice.estimatePart(p.name), 2*once-takenOnce[p.name], "%s, with twice the rounds", p.name)
	}
	ofAll, memory := usual.estimatePart("frames"), usual.opt.defaults()
	usual.peers = peers{}
	if memory <= 0 || usual.estimatePart("tcp")+usual.estimatePart("incast") != 0 ||
		usual.estimatePart("frames")-memory != (ofAll-memory)/2 ||
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
