package api

import (
	"context"
	"encoding/json"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// sampleTraces are frames that meet every kind of station, by ingress port.
func sampleTraces() map[string]dataplane.TraceResult {
	in := dataplane.PortConfig{Name: "p1", Speed: 1e9, MaxFrame: 1514, Mode: macctl.ModePFC, Lossless: 1 << 3,
		Bridge: bridge.PortConfig{PVID: 1}}
	tagged := frame.Header{Dst: 0x020000000002, Src: 0x020000000001, EtherType: 0x0800, Tagged: true,
		TCI: frame.MakeTCI(3, false, 10)}
	queue := buffer.QueueSnapshot{Lossless: true, Threshold: 81_920, Config: buffer.QueueConfig{Private: 4096,
		Headroom: 72_192}}
	queue.Used.Private.Now, queue.Used.Shared.Now = 4096, 81_920
	leaving := dataplane.Copy{Port: 1, Name: "p2", MaxFrame: 1514, Speed: 1e9, Served: sched.Queue{Weight: 50},
		Queue: 3, Octets: 1510, AheadFrames: 12, AheadOctets: 18_120, PortOctets: 18_408, PausedNs: 1_500_000,
		MarkShare: 0.05}

	lossless := dataplane.TraceResult{Config: in, Up: true, Octets: 1514, Pieces: 1, Header: tagged, DSCP: 26,
		Priority: 3, Lossless: true, Marks: true, VLAN: 10, Member: true, Station: bridge.Entered{Known: true, Port: 1,
			Static: true}, Known: "p2",
		Decision: bridge.Decision{Kind: bridge.Unicast, Port: 1}, Copies: []dataplane.Copy{leaving},
		Ingress: &buffer.TraceResult{Verdict: buffer.AcceptHeadroom, Size: 1536, Headroom: 1536, TurnsOff: true,
			Queue: queue, Free: 81_920}}

	demoted := dataplane.TraceResult{Config: in, Up: true, Octets: 100, Pieces: 43, Header: tagged, DSCP: -1,
		Priority: 3, Lossless: true, VLAN: 10, Member: true,
		Decision: bridge.Decision{Kind: bridge.Flood, Cause: bridge.UnknownUnicast, Port: -1},
		Demoted:  true}
	copied := leaving
	copied.Served, copied.Queue, copied.PausedNs, copied.MarkShare = sched.Queue{Strict: true}, 0, 0, 0
	copied.Tagged, copied.Tag = true, tagged.TCI
	copied.Lossy = &buffer.LossyTraceResult{Accepted: true, Size: 256, Free: 4_000_000,
		Queue: buffer.LossySnapshot{Threshold: 4_000_000}}
	refused := copied
	refused.Name, refused.Dropped, refused.Reason = "p3", true, dataplane.DropLossyThreshold
	refused.Lossy = &buffer.LossyTraceResult{Size: 256, Free: 100, Queue: buffer.LossySnapshot{Threshold: 100,
		Used: buffer.Level{Now: 100}}}
	demoted.Copies = []dataplane.Copy{copied, refused}

	filtered := dataplane.TraceResult{Config: in, Up: true, Octets: 64, Pieces: 1, Header: tagged, DSCP: -1,
		Priority: 3, Lossless: true, VLAN: 10, Dropped: true, Reason: dataplane.DropFiltered}
	filtered.Config.Classify = classify.Config{Trust: classify.TrustDSCP}
	down := dataplane.TraceResult{Config: in, Octets: 64, Pieces: 1, Priority: 3, Dropped: true,
		Reason: dataplane.DropPortDown}
	return map[string]dataplane.TraceResult{"p1": lossless, "p2": demoted, "p3": filtered, "p4": down}
}

// The text and the JSON of explain are golden files.
func TestExplainGolden(t *testing.T) {
	server := NewServer(&fake{}, start, 0)
	all := &Explanation{Schema: Schema, Running: true}
	for i, port := range []string{"p1", "p2", "p3", "p4"} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/v1/explain?port="+port+"&number="+string(rune('1'+i)),
			strings.NewReader("frame")))
		var e Explanation
		err := json.Unmarshal(w.Body.Bytes(), &e)
		assert.MustBeTrue(t, err == nil && w.Code == 200, "%s: status %d, %v: %s", port, w.Code, err, w.Body)
		all.Switch = e.Switch
		all.Frames = append(all.Frames, e.Frames...)
	}
	golden.Check(t, "explain.json", jsonOf(t, all))
	golden.Check(t, "explain.txt", all.Text())
}

// Malformed requests are refused, and long ones are not read.
func TestExplainRefuses(t *testing.T) {
	server := NewServer(&fake{}, start, 0)
	for _, test := range []struct {
		query, body string
		status      int
		want        string
	}{
		{"port=p9", "x", 404, "there is no port p9: there are p1, p2, p3"},
		{"port=p1&vnet=zz", "x", 400, "vnet=zz"},
		{"port=p1&vnet=00", "x", 400, "10 octets"},
		{"port=p1", strings.Repeat("x", maxFrame+1), 400, "at most 65554 octets"},
		{"port=p1", strings.Repeat("x", maxFrame), 200, ""},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("POST", "/v1/explain?"+test.query, strings.NewReader(test.body)))
		assert.True(t, w.Code == test.status && strings.Contains(w.Body.String(), test.want),
			"%s: status %d, %s; want %d, %q", test.query, w.Code, w.Body, test.status, test.want)
	}
}

// A frame and its virtio header pass the socket unchanged.
func TestClientExplains(t *testing.T) {
	asked := make(chan TraceRequest, 1)
	client, _ := serve(t, &fake{questions: asked})
	q := TraceRequest{Port: "p1", Frame: []byte{1, 2, 3}, Vnet: frame.VnetHeader{Flags: 1, GSOType: 1, GSOSize: 1448,
		HdrLen: math.MaxUint16, CsumStart: 34, CsumOffset: 16}}
	e := assert.Got(client.Explain(context.Background(), 7, q)).Must(t)
	if got := <-asked; string(got.Frame) != string(q.Frame) || got.Vnet != q.Vnet || got.Port != q.Port {
		t.Errorf("asked %+v, want %+v", got, q)
	}
	assert.True(t, len(e.Frames) == 1 && e.Frames[0].Number == 7 && e.Frames[0].Verdict == "forwarded",
		"answer %+v", e.Frames)
}
