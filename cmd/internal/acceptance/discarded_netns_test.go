package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/web/webtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// colour is the colour of a part of the page: an element's own, or a property of the style sheet.
func colour(id string) string {
	return fmt.Sprintf(`getComputedStyle(document.getElementById(%q)).color`, id)
}

func property(name string) string {
	return fmt.Sprintf(`(() => {
		const probe = document.body.appendChild(document.createElement("i"));
		probe.style.color = "var(--%s)";
		const found = getComputedStyle(probe).color;
		probe.remove();
		return found;
	})()`, name)
}

// Frames of a lossless priority that the watchdog drops are no lossless drops. Commands, metrics and page show them
// beside those, in amber: all frames that h1 has sent and h2 has not received. They stay when the port is removed.
func TestDiscardedIsTold(t *testing.T) {
	r := NewRig(t, 2)
	s := Setup{Keys: watched + "drop}", Each: At100M}
	host := r.serveHere(s)
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	p := webtest.Open(t, "http://"+host+"/", false, 1000, 900)
	p.Await("nothing was lost", `document.getElementById("drops").textContent
		.includes("nothing that had to arrive was lost") && `+colour("drops-number")+" === "+property("good")+` &&
		document.getElementById("discarded-number").textContent === "0"`)
	calm := h2.storm()
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 10e6}, Stream{To: 2, Prio: 0, Rate: 1e6})
	discarded := func() uint64 { return r.Snapshot(1).Counters.LosslessDiscarded[3][dataplane.DropWatchdog] }
	eventually(t, "frames are discarded", func() bool { return discarded() > 1000 })
	stop()
	calm()
	r.Took(h1)
	eventually(t, "the storm is over", func() bool {
		return r.watch(2).State == deadlock.Operational && r.Snapshot(2).Held[3] == 0
	})
	n := discarded()
	eventually(t, "the others arrive", func() bool { return h2.Tally(1, 3).Frames == h1.Sent[3].Load()-n })
	h2.Whole(h1, 0)
	r.NoLosslessDrops()

	grouped := api.DiscardedText([]api.DiscardedBy{{Reason: "watchdog", Frames: n}}) // as people read it
	sum := strings.TrimPrefix(grouped, "watchdog ")
	client := api.NewClient(filepath.Join(r.Dir, "api.sock"))
	show := func() string {
		reply := assert.Got(client.Show(t.Context(), "ports")).Must(t)
		return reply.Text()
	}
	got := show()
	assert.True(t, strings.HasPrefix(got, "lossless drops: 0; discarded on purpose: "+sum+" (since start, ") &&
		strings.Contains(got, "  discarded: "+grouped+"\n"), "show ports, want %s:\n%s", grouped, got)
	metrics := body(t, "http://"+host+"/metrics")
	for _, want := range []string{
		fmt.Sprintf(`lossless_discarded_total{port="p1",priority="3",reason="watchdog"} %d`, n),
		fmt.Sprintf("lossless_discarded_all_ports_total %d", n), "lossless_drops_all_ports_total 0",
		`lossless_drops_total{port="p1",priority="3"} 0`} {
		assert.Contains(t, metrics, "\npfcswitch_"+want+"\n", "%s is not among the metrics", want)
	}

	p.Await("the page says so in amber", fmt.Sprintf(`document.getElementById("discarded-number").textContent === %q &&
		document.getElementById("discarded").textContent.includes(%q) && `, sum, "— "+grouped+": see Ports")+
		colour("discarded-number")+" === "+property("amber"))
	p.Await("at the port too", inRow("ports-rows", 8, "p1")+fmt.Sprintf(` === %q &&
		document.querySelectorAll("#ports-rows .amber").length === 1`, sum))
	if got := p.Text("drops"); !strings.HasPrefix(got, "0") || strings.Contains(got, "nothing") ||
		webtest.Eval[string](p, colour("drops-number")) == webtest.Eval[string](p, property("good")) {
		t.Errorf("the page is green: %q", got)
	}
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1000, 320} {
			p.Look(dark, width, 900)
			if found, _ := p.LowContrast(); len(found) > 0 {
				t.Errorf("dark %v, %d pixels: these cannot be read:\n%s", dark, width, strings.Join(found, "\n"))
			}
			for _, found := range p.Overflow() {
				t.Errorf("at %d pixels: %s", width, found)
			}
		}
	}
	r.removes(s, "p1")
	p.Await("its port is gone, and the figure is not", fmt.Sprintf(`document.getElementById("discarded-verdict")
		.textContent.includes(%q)`, "at removed ports "+sum))
	must(t, client.Clear(t.Context(), "counters"))
	got = show()
	assert.True(t, strings.HasPrefix(got, "lossless drops: 0; discarded on purpose: 0 (since clear, ") &&
		strings.Contains(got, "; 0 and "+sum+" since start)"), "show ports after a clear:\n%s", got)
	quiet(t, p, host)
}
