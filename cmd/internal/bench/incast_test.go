package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// The incast stays in the last pod, to whose last host half of it sends; TCP has two hosts of the first pod, at two
// switches. The lab has as many ports as its memory is reckoned for.
func TestIncastFabric(t *testing.T) {
	for _, k := range []int{4, 8} {
		f := incastFabric(k, 8*time.Second)
		lab := assert.Got(config.ParseTopology("f.yaml", []byte("name: f\n"+f.yaml), nil)).Must(t)
		hosts, pod := len(lab.Hosts), podHosts(k)
		assert.Equal(t, f.ports, 2*len(lab.Links)-hosts, "k = %d: ports", k)
		load := lab.Traffic[0]
		assert.True(t, len(lab.Traffic) == 1 && load.Duration == 8*time.Second && len(load.From) == pod/2 &&
			load.Priority == incastPriority, "k = %d: %+v", k, load)
		switchOf := map[string]string{}
		for _, l := range lab.Links {
			if l.Ends[0].Interface == "eth0" {
				switchOf[l.Ends[0].Node] = l.Ends[1].Node
			}
		}
		for _, h := range append(load.From, load.To...) {
			assert.True(t, strings.HasPrefix(switchOf[h], fmt.Sprintf("p%de", k)), "k = %d: %s is at %s", k, h,
				switchOf[h])
		}
		assert.Equal(t, switchOf[load.To[0]], fmt.Sprintf("p%de%d", k, k/2), "k = %d: switch of the receiver", k)
		for i, h := range lab.Hosts {
			want := ""
			if i == 0 || i == pod-1 {
				want = tcpAddress(i+1) + "/24"
			}
			got := strings.Trim(fmt.Sprint(h.Addresses), "[]")
			assert.True(t, got == want && lab.Address(i).String() == mac(i+1), "k = %d: %s: %s, %v", k, h.Name, got,
				lab.Address(i))
		}
		assert.True(t, switchOf["h1"] == "p1e1" && switchOf[lab.Hosts[pod-1].Name] == fmt.Sprintf("p1e%d", k/2),
			"k = %d: TCP is at %s and %s", k, switchOf["h1"], switchOf[lab.Hosts[pod-1].Name])
	}
}

// incastReport is what lab run says of two senders, in short.
const incastReport = `{"seconds": 2, "pass": %v, "checks": [
	{"name": "nothing lost", "want": "0", "got": "3", "judged": true, "pass": %v},
	{"name": "fast", "judged": false, "pass": false}],
	"flows": [{"sent": 10, "received": 8, "lost": 2}, {"sent": 5, "received": 4, "lost": 1}],
	"hosts": [{"name": "h1", "pfc_received_paused_ns": [0, 0, 0, 1800000000, 0, 0, 0, 0]},
		{"name": "h2", "pfc_received_paused_ns": [0, 0, 0, 1000000000, 0, 0, 0, 9]}],
	"ports": [{"switch": "s1", "port": "up1", "received_paused_ns": 5},
		{"switch": "s1", "port": "up2", "received_paused_ns": 1}, {"switch": "s2", "transmit_paused_ns": 7},
		{"switch": "s3", "received_paused_ns": 1}]}`

func TestIncastValues(t *testing.T) {
	r := incastRound{tcp: traffic.IperfReport{Rate: 14.5e6, Retransmitted: 6}, dropped: 4}
	assert.Must(t, json.Unmarshal(fmt.Appendf(nil, incastReport, true, true), &r.report))
	assert.Same(t, r.values(), []value{{tcpRate, 14.5}, {resent, 6}, {framesArrived, 12}, {lost, 3}, {framesDropped, 4},
		{heldShare, 70}, {heldMost, 90}, {switchesHeld, 2}}, "values")
}

// A round fails where a check of lab run does, or a switch dropped a frame. A segment that TCP sent again although none
// was dropped, or a check that was not judged, is no failure.
func TestIncastVerdict(t *testing.T) {
	for _, c := range []struct {
		pass, lossless bool
		dropped, again uint64
		says           string
	}{
		{true, true, 0, 0, "<nil>"},
		{true, true, 0, 3, "<nil>"},
		{false, true, 0, 0, "lab run did not pass"},
		{true, true, 2, 3, "the switches dropped 2 frames; TCP sent 3 segments again"},
		{false, false, 0, 0, "lab run: nothing lost: 3, want 0"},
		{false, false, 1, 0, "lab run: nothing lost: 3, want 0\n" +
			"the switches dropped 1 frames; TCP sent 0 segments again"},
	} {
		r := incastRound{tcp: traffic.IperfReport{Retransmitted: c.again}, dropped: c.dropped}
		assert.Must(t, json.Unmarshal(fmt.Appendf(nil, incastReport, c.pass, c.lossless), &r.report))
		assert.Equal(t, fmt.Sprint(r.judge()), c.says, "%+v", c)
	}
}

// Frames for which there is no receiver are not missed; all others are, whatever their priority.
func TestMissed(t *testing.T) {
	got := missed([]api.Drop{{Reason: "filtered", Frames: 1}, {Reason: "same-port", Frames: 2},
		{Reason: "lossy-threshold", Frames: 4}, {Reason: "ring", Frames: 8}, {Reason: "lossless-headroom", Frames: 16}})
	assert.Equal(t, got, uint64(28), "missed")
}
