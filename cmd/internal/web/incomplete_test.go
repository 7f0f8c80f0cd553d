package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A switch that leaves arrays out of its state is shown with empty ones, and takes nothing from the others: the page relies
// on arrays.
func TestOddSwitch(t *testing.T) {
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"schema":1,"ports":[{"port":"x"}],"pfc":[{"port":"x"}],"pools":[{}],"buffer":[{}],"queues":[{}],"headroom":[{}],` +
			`"watchdog":[{}],"lldp":[{"neighbors":[{}]}],"events":[{}]}`))
	}))
	defer odd.Close()
	sw, err := SwitchAt(strings.TrimPrefix(odd.URL, "http://"))
	must(t, err)
	good := samplePoller().switches[0].Switch
	w, _ := watchAt(t, serve(t, Config{Poller: fastPoller(sw, good)}))
	v := w.next()
	if !v.Switches[0].Answers || !v.Switches[1].Answers {
		t.Fatalf("%+v", v)
	}
	s := v.Switches[0].State // decoded: null would be a nil slice
	for name, missing := range map[string]bool{
		"ports.lossless_priorities": s.Ports[0].LosslessPriorities == nil, "pfc.priorities": s.PFC[0].Priorities == nil, "pfc.ignored": s.PFC[0].Ignored == nil,
		"buffer.ingress_queues": s.Buffer[0].IngressQueues == nil, "queues.queues": s.Queues[0].Queues == nil, "headroom.queues": s.Headroom[0].Queues == nil,
		"lldp.neighbors.dcbx_versions": s.LLDP[0].Neighbors[0].DCBXVersions == nil,
	} {
		if missing {
			t.Errorf("%s is null", name)
		}
	}
	if p := v.Switches[1].State.PFC; len(p) != 1 || p[0].Ignored == nil || len(p[0].Priorities) != 1 {
		t.Errorf("the other switch: %+v", p)
	}
}
