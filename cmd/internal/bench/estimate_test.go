package bench

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Every part takes time, twice the rounds twice as much, and a peer that is missing none.
func TestEstimate(t *testing.T) {
	usual, twice := benchWith(t, ""), benchWith(t, "--rounds 14")
	said := usual.estimate()
	for _, p := range parts {
		once := usual.takes(p.name)
		if once < 10*time.Second || once > 2*time.Hour || !strings.Contains(said, p.name) {
			t.Errorf("%s takes %v: %s", p.name, once, said)
		}
		if got := twice.takes(p.name); got < 2*once-max(2*learning, usual.opt.defaults()) || got > 2*once {
			t.Errorf("%s takes %v, and with twice the rounds %v", p.name, once, got)
		}
	}
	ofAll, memory := usual.takes("frames"), usual.opt.defaults()
	usual.peers = peers{}
	if memory <= 0 || usual.takes("tcp") != 0 || usual.takes("frames")-memory != (ofAll-memory)/2 || benchWith(t, "--switches bridge").opt.defaults() != 0 {
		t.Errorf("without peers: %s", usual.estimate())
	}
}

// README and the script's own text say how long runs take, each in the words that are right to a tenth.
func TestEstimatesOfTexts(t *testing.T) {
	for _, c := range []struct {
		args    string
		minutes float64
		texts   map[string]string
	}{
		{"", 150, map[string]string{"README.md": "# everything: about two and a half hours,", "scripts/bench.sh": "everything, 7 rounds (about two and a half hours,"}},
		{"--only lossfree", 80, map[string]string{"README.md": "80 minutes of it the loss-free search", "scripts/bench.sh": "80 minutes of them for the loss-free rate"}},
		{"--priorities 3", 90, map[string]string{"README.md": "the lossless priority alone: an hour and a half", "scripts/bench.sh": "the lossless priority alone (an hour and a half)"}},
		{"--switches pfcswitch,bridge,ovs", 120, map[string]string{"README.md": "without Open vSwitch's TSO: two hours", "scripts/bench.sh": "without Open vSwitch's TSO (two hours)"}},
		{"--only choices", 15, map[string]string{"README.md": "what each choice of waiting and waking brings: a quarter of an hour"}},
	} {
		b := benchWith(t, c.args)
		sum := 0.0
		for _, p := range b.opt.parts {
			sum += b.takes(p.name).Minutes()
		}
		if sum < 0.9*c.minutes || sum > 1.1*c.minutes {
			t.Errorf("%q takes %.1f minutes, not about %g", c.args, sum, c.minutes)
		}
		for name, text := range c.texts {
			if all, err := os.ReadFile("../../../" + name); err != nil || !strings.Contains(string(all), text) {
				t.Errorf("%s does not say %q (%v): mend this list with it", name, text, err)
			}
		}
	}
}

// benchWith has all peers and these options.
func benchWith(t *testing.T, args string) *bench {
	t.Helper()
	o, err := parseOptions(strings.Fields(args), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{opt: o, peers: peers{ovs: "x", iperf3: "x"}}
}
