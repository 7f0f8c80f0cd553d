package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/cmd/internal/web/webtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// serveHere runs the switch in this process with all that it serves, and returns host:port of its page. Its ports have
// come up.
func (r *Rig) serveHere(s Setup) (host string) {
	r.T.Helper()
	r.address = freeAddress(r.T)
	c, _, err := config.Parse("test.yaml", r.served(s))
	must(r.T, err)
	r.Switch = assert.Got(NewSwitch(c, slog.New(slog.NewTextHandler(io.Discard, nil)))).Must(r.T)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Switch.Serve(ctx) }()
	r.T.Cleanup(func() {
		cancel()
		must(r.T, <-served)
		must(r.T, r.Switch.Close())
	})
	for n := range r.Hosts {
		r.WaitUp(n+1, true)
	}
	return r.address
}

// served is the configuration of a switch that serves its page.
func (r *Rig) served(s Setup) []byte {
	s.Netns = r.Node.Path()
	return []byte(strings.Replace(s.YAML(r, len(r.Hosts)), "listen: off", fmt.Sprintf("listen: %q", r.address), 1))
}

// storm makes a host pause its port without a gap, as "pfcswitch send --storm" does, until ctx ends.
func (r *Rig) storm(ctx context.Context, n int, prio uint8, lasts time.Duration) (wait func() *traffic.StormReport) {
	r.T.Helper()
	type outcome struct {
		report *traffic.StormReport
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		report, err := traffic.RunStorm(ctx, traffic.StormConfig{Interface: "eth0", Netns: r.Host(n).Path(),
			Speed: 100e6, FlowControl: "pfc", Priority: prio, Duty: 100, Duration: lasts})
		ended <- outcome{report, err}
	}()
	return func() *traffic.StormReport {
		o := <-ended
		must(r.T, o.err)
		return o.report
	}
}

// cell is the part of the matrix for a port and priority: received above, sent below.
func cell(port string, prio int, sent bool) string {
	part := 1
	if sent {
		part = 2
	}
	return fmt.Sprintf(`[...document.querySelectorAll("#matrix-rows tr")]
		.find(r => r.cells[0].textContent === %q).cells[%d].children[%d]`, port, prio+1, part)
}

// inRow is the text of cell n, from 0, of the row of a table that begins with these texts; "" where there is none.
func inRow(table string, n int, begins ...string) string {
	want, _ := json.Marshal(begins)
	return fmt.Sprintf(`(([...document.querySelectorAll("#%s tr")]
		.find(r => %s.every((text, i) => r.cells[i].textContent === text)) || {cells: []})
		.cells[%d] || {textContent: ""}).textContent`, table, want, n)
}

// tables fails the test where the page's buffer, headroom report and watchdog are not those of the switch.
func (r *Rig) tables(p *webtest.Page) {
	t := r.T
	t.Helper()
	same := func(what, cell, want string) {
		assert.Equal(t, webtest.Eval[string](p, cell), webtest.Eval[string](p, want), "what the page says of the %s",
			what)
	}
	var s dataplane.Snapshot
	r.Source().Snapshot(&s)
	for segment, size := range map[string]int64{"private": s.Buffer.Lossless.PrivateSize,
		"shared": s.Buffer.Lossless.SharedSize, "headroom": s.Buffer.Lossless.HeadroomSize} {
		same("size of the pool's segment "+segment, inRow("pools-rows", 4, "lossless", segment),
			fmt.Sprintf("bytes(%d)", size))
	}
	same("most of it that was used", inRow("pools-rows", 5, "lossless", "shared"),
		fmt.Sprintf("bytes(%d)", s.Buffer.Lossless.Used.Shared.Persistent))
	for _, h := range r.Source().Headroom() {
		same("calculated headroom of "+h.Port, inRow("headroom-rows", 2, h.Port),
			fmt.Sprintf("bytes(%d)", h.Calculated.Bytes()))
		same("octets that the headroom of "+h.Port+" holds", inRow("headroom-rows", 4, h.Port),
			fmt.Sprintf("bytes(%d)", h.Report.Holds))
		if h.Port == "p1" {
			same("top of its chart with a second queue as the first", `(() => {
				const w = structuredClone(view.switches[0]),
					queues = w.state.buffer.find(p => p.port === "p1").ingress_queues;
				queues.push(queues[0]);
				drawHistory(w);
				return document.querySelector("#history-ports figure:nth-of-type(4) .of").textContent;
			})()`, fmt.Sprintf(`"of " + bytes(%d)`, 2*h.Report.InForce))
		}
	}
	for _, q := range r.Source().Watchdog() {
		same("detections of "+q.Name, inRow("watchdog-rows", 4, q.Name, "3"), fmt.Sprintf("count(%d)", q.Detected))
		same("frames sent in storms of "+q.Name, inRow("watchdog-rows", 6, q.Name, "3"),
			fmt.Sprintf("count(%d)", q.Sent))
	}
}

// loses makes lossless frames of host 1 get lost: the switch drops what has no room, and the host does not obey.
func (r *Rig) loses(s Setup) (lost uint64) {
	r.T.Helper()
	s.Keys, s.Ports = strings.Replace(s.Keys, "buffer: {", "buffer: {ring_hold: off, ", 1),
		map[int]string{1: "priorities: {3: {alpha: 0.0625}}"}
	assert.Got(r.Source().Apply(r.T.Context(), "test.yaml", r.served(s), false)).Must(r.T)
	liar := r.Station(1, macctl.ModeOff, 300e6)
	stop := liar.Send(Stream{To: 2, Prio: 3})
	eventually(r.T, "frames are lost", func() bool { return r.Snapshot(1).Counters.LosslessDrops[3] > 0 })
	stop()
	eventually(r.T, "the queue is empty", func() bool { return r.Snapshot(2).Held[3] == 0 })
	return r.Snapshot(1).Counters.LosslessDrops[3]
}

// chart is what the page writes above a chart of a port, number port, with the last five minutes: of chart number n (1:
// rate, 2: paused, 3: buffer, 4: headroom) the part that is received (0) or sent (1).
func chart(port, n, part int) string {
	return fmt.Sprintf(`document.querySelector("#history-ports .charts:nth-child(%d) figure:nth-of-type(%d) b.line%d")`+
		".textContent", port, n, part)
}

// most is the largest number of a chart that the pointer finds on its way from the left to the right.
func most(port, text string) string {
	return fmt.Sprintf(`(() => {
		const svg = document.querySelector("#history-ports .charts:nth-child(%s) figure:nth-of-type(2) svg");
		const r = svg.getBoundingClientRect();
		let most = 0;
		for (let x = r.left; x <= r.right; x++) {
			svg.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: r.top, bubbles: true}));
			most = Math.max(most, parseInt(%s.slice(1)) || 0);
		}
		return most;
	})()`, port, text)
}

// looksBack fails the test where the last five minutes do not show a storm that has ended: port 2 was paused, and port
// 1 paused its host. A page that is opened now shows it too.
func looksBack(t *testing.T, p *webtest.Page) {
	t.Helper()
	for _, how := range []string{"true", "(window.old = true, location.reload(), true)"} {
		webtest.Eval[bool](p, how)
		p.Await("the charts are there", `!window.old && document.querySelectorAll("#history-ports .charts").length === 3 &&
			`+chart(2, 2, 0)+` === "▼0 % "`)
		p.Await("p2 was paused", most("2", chart(2, 2, 0))+" > 50")
		p.Await("p1 paused its host", most("1", chart(1, 2, 1))+" > 20")
		assert.Equal(t, webtest.Eval[int](p, most("2", chart(2, 2, 1))), 0, "p2 paused its host for %% of a second")
		webtest.Eval[bool](p, "(lookBack(0), true)")
	}
}

// quiet fails the test where the browser had to complain, or asked somebody else.
func quiet(t *testing.T, p *webtest.Page, host string) {
	t.Helper()
	faults := p.Faults()
	assert.True(t, len(faults) == 0, "the browser complains:\n%s", strings.Join(faults, "\n"))
	found := p.Strangers(host)
	assert.True(t, len(found) == 0 && p.Asked() >= 4, "of %d requests these left the switch: %v", p.Asked(), found)
}

// A real storm changes the colour and the text of its cell, and of no other port's; the watchdog finds it; the figures
// are the switch's own. Lossless frames that are lost then are told in large type. With UPDATE_SCREENSHOT=1 it also
// makes the README's picture.
func TestPageShowsAStorm(t *testing.T) {
	r := NewRig(t, 3)
	s := Setup{Keys: SmallBuffers, Each: At100M}
	host := r.serveHere(s)
	h1, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(3, macctl.ModePFC, 100e6)
	p := webtest.Open(t, "http://"+host+"/", false, 1000, 1400)
	p.Await("the numbers are there", `document.querySelectorAll("#matrix-rows tr").length === 3`)
	p.Await("nothing is paused", `document.getElementById("contact").textContent === "Connected" && `+cell("p2", 3,
		false)+`.className === "part s0"`)
	if got := p.Text("drops"); !strings.HasPrefix(got, "0") ||
		!strings.Contains(got, "nothing that had to arrive was lost") {
		t.Errorf("lossless drops: %q", got)
	}
	ctx, end := context.WithCancel(t.Context())
	wait := r.storm(ctx, 2, 3, time.Minute)
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0}),
		h3.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0})
	p.Await("the storm's cell is red, and says so", "/s[45]/.test("+cell("p2", 3, false)+".className) && "+cell("p2", 3,
		false)+`.textContent.startsWith("▼‖")`)
	p.Await("its senders are held", "/s[2345] now/.test("+cell("p1", 3, true)+".className)")
	p.Await("the picture points at who is held", `[["p2 – ", "no LLDP holds test p2: "],
		["p1 – ", "test p1 holds no LLDP: "]].every(([link,
			says]) => [...document.querySelectorAll("#topology-picture g.link")].some(g =>
			g.textContent.includes(link) && g.textContent.includes(says) &&
			g.querySelectorAll(".way:not(.off)").length === 1))`)
	p.Await("the watchdog has found it", inRow("watchdog-rows", 2, "p2", "3")+` === "stormed"`)
	p.Await("the bar of p1 reaches Xoff",
		`[...document.querySelectorAll("#ingress-rows tr")]
			.find(r => r.cells[0].textContent === "p1").cells[3].textContent === "held"`)
	if os.Getenv("UPDATE_SCREENSHOT") != "" {
		p.Look(false, 860, 700)
		must(t, os.WriteFile("../web/testdata/page.png", p.Screenshot(), 0o644))
		p.Look(false, 1000, 1400)
	}
	for _, other := range []string{cell("p1", 3, false), cell("p3", 3, false), cell("p2", 2, false)} {
		if class := webtest.Eval[string](p, other+".className"); class != "part s0" && class != "part off" {
			t.Errorf("a cell that has nothing to do with it has class %q", class)
		}
	}
	end()
	report := wait()
	stop1()
	stop3()
	p.Await("the cell is as before", cell("p2", 3, false)+`.className === "part s0"`)
	looksBack(t, p)
	paused := r.Snapshot(2).PausedNs[3]
	asked := int64(report.Paused * float64(report.Elapsed))
	assert.True(t, paused >= asked*9/10, "p2 was paused for %d ns, and the storm asked for %d", paused, asked)
	want := fmt.Sprintf("%.1f s", float64(paused)/1e9)
	got := webtest.Eval[string](p, `[...document.querySelectorAll("#pauses-rows tr")]
		.find(r => r.cells[0].textContent === "p2" && r.cells[1].textContent === "3").cells[4].textContent`)
	assert.Equal(t, got, want, "the page tells that p2 was paused for")
	p.Await("the watchdog watches again", inRow("watchdog-rows", 2, "p2", "3")+` === "operational"`)
	r.tables(p)
	frames := r.loses(s)
	lost := fmt.Sprintf("count(%d)", frames)
	p.Await("the loss is told in large type",
		`document.getElementById("drops").className === "drops lost" &&
		document.getElementById("drops-number").textContent === `+lost)
	p.Await("where it was", inRow("ports-rows", 7, "p1")+" === "+lost+` &&
		[...document.querySelectorAll("#events-rows .bad")].some(c => c.textContent === "lossless-drop")`)
	assert.Contains(t, p.Text("drops"), "frames that had to arrive were lost", "lossless drops")
	r.removes(s, "p1")
	p.Await("its port is gone", `document.querySelectorAll("#ports-rows tr").length === 2`)
	p.Await("and the loss is not", `document.getElementById("drops-number").textContent === `+lost)
	if got := body(t, "http://"+host+"/metrics"); !strings.Contains(got,
		fmt.Sprintf("\npfcswitch_lossless_drops_all_ports_total %d\n", frames)) || strings.Contains(got, `port="p1"`) {
		t.Errorf("p1 is gone, and there should be %d lossless drops in all:\n%s", frames, got)
	}
	quiet(t, p, host)
}

// removes takes a port out of the configuration.
func (r *Rig) removes(s Setup, port string) {
	r.T.Helper()
	var left []string
	for line := range strings.Lines(string(r.served(s))) {
		if !strings.Contains(line, port) {
			left = append(left, line)
		}
	}
	assert.Got(r.Source().Apply(r.T.Context(), "test.yaml", []byte(strings.Join(left, "")), false)).Must(r.T)
}

// body is what a GET answers with.
func body(t *testing.T, url string) string {
	t.Helper()
	a := assert.Got(http.Get(url)).Must(t)
	defer func() { _ = a.Body.Close() }()
	b := assert.Got(io.ReadAll(a.Body)).Must(t)
	return string(b)
}

// On a phone and on a screen, by day and by night, everything fits, can be read, reached and named, while the switch is
// busy.
func TestPageForEverybody(t *testing.T) {
	r := NewRig(t, 6)
	host := r.serveHere(Setup{Keys: SmallBuffers, Each: At100M, Ports: map[int]string{3: "flow_control: pause"}})
	h1 := r.Station(1, macctl.ModePFC, 100e6)
	ctx, cancel := context.WithCancel(t.Context())
	wait := r.storm(ctx, 2, 3, time.Minute)
	defer func() { cancel(); wait() }()
	stop := h1.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0})
	p := webtest.Open(t, "http://"+host+"/", false, 1000, 900)
	p.Await("the numbers are there", `document.querySelectorAll("#matrix-rows tr").length === 6`)
	p.Await("the storm is there", "/s[2345]/.test("+cell("p2", 3, false)+".className)")
	p.Await("an event is there", `document.querySelectorAll("#events-rows tr").length > 2`)
	webtest.Eval[bool](p, `document.querySelector("details").open = true`)
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1000, 930, 900, 700, 500, 400, 320} {
			p.Look(dark, width, 900)
			for _, found := range p.Overflow() {
				t.Errorf("at %d pixels: %s", width, found)
			}
			found, texts := p.LowContrast()
			assert.True(t, len(found) == 0 && texts >= 100, "dark %v, %d pixels: of %d texts these cannot be read:\n%s",
				dark, width, texts, strings.Join(found, "\n"))
		}
	}
	p.Look(true, 400, 900)
	for _, found := range p.Unreached() {
		t.Error(found)
	}
	found, roles := p.Nameless()
	assert.True(t, len(found) == 0 && roles["table"] >= 10 && roles["columnheader"] >= 60 && roles["rowheader"] >= 12 &&
		roles["heading"] >= 8 && roles["navigation"] == 1, "a screen reader finds no name for %v, and these roles: %v",
		found, roles)
	quiet(t, p, host)
	webtest.Eval[bool](p, `(document.body.append(Object.assign(document.createElement("script"),
		{textContent: "window.broken = true"})), true)`)
	p.Await("a script that is not the page's own does not run", "window.broken === undefined")
	eventually(t, "and the browser complains of it",
		func() bool { return strings.Contains(strings.Join(p.Faults(), " "), "Content Security Policy") })
	stop()
}

// A trunk has its place on the page, and a switch without one has not.
func TestPageShowsATrunk(t *testing.T) {
	r := NewRig(t, 4)
	host := r.serveHere(Setup{Keys: threeToOne(", watermarks: {priority: {3: {high: 128KiB, low: 64KiB}}}"),
		Each: At100M})
	h1, h4 := r.Station(1, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 100e6)
	p := webtest.Open(t, "http://"+host+"/", false, 1000, 900)
	p.Await("the trunk is there", `!document.getElementById("trunks").hidden &&
		document.querySelectorAll("#trunks-ports-rows tr").length === 4`)
	stop := h1.Send(Stream{To: 4, Prio: 3, Rate: 5e6})
	p.Await("its member has received, and its uplink sent", `[0, 3].every(i => {
		const c = document.querySelectorAll("#trunks-ports-rows tr")[i].cells;
		return c[1].textContent === (i ? "p4" : "p1") && c[3].textContent === "running" &&
			c[i ? 7 : 6].textContent !== "0";
	})`)
	p.Await("its priority has a row",
		`[...document.querySelectorAll("#trunks-priorities-rows tr")]
		.some(r => r.cells[1].textContent === "3" && r.cells[2].textContent !== "0")`)
	stop()
	h4.Whole(h1, 3)
	for _, found := range append(p.Unreached(), p.Overflow()...) {
		t.Error(found)
	}
	quiet(t, p, host)
}
