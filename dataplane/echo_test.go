package dataplane

import (
	"testing"

	"pfcswitch/macctl"
)

// A port answers who asks how frames pass its link, whichever way the question comes, without a Prober; and only what is for it.
func TestEchoIsAnswered(t *testing.T) {
	asker := [6]byte{2, 0, 0, 0, 0, 9}
	format := macctl.DefaultMeasurementFormat
	for _, test := range []struct {
		way, back macctl.Way
		tagged    bool
	}{
		{macctl.WayControl, macctl.WayFallback, false}, {macctl.WayFallback, macctl.WayControl, false},
		{macctl.WayFallback, macctl.WayFallback, true}, {macctl.WayBridged, macctl.WayBridged, false},
	} {
		cfg := testConfig(2)
		cfg.Measurement = format
		r := newRig(t, cfg, testPort(0), testPort(1))
		b := format.AppendEcho(nil, [6]byte{}, asker, test.way, 200, test.tagged, 0x6005, macctl.Echo{Sequence: 5, Octets: 200, Way: test.back, Tagged: test.tagged, TCI: 0x6005})
		if test.way == macctl.WayControl {
			if taken, urgent := r.sw.Measurement(0, b, r.now, r.now, 0); !taken || !urgent {
				t.Fatalf("%+v: taken %v, urgent %v", test, taken, urgent)
			}
		} else {
			r.offer(0, b)
		}
		if c := r.count(0); c.ReceivedFrames != 0 || len(r.sentBy(2)[1]) != 0 {
			t.Errorf("%+v: counted as data, or forwarded", test)
		}
		if r.sw.MeasureDeadline(0) != 0 || r.sw.MeasureDeadline(1) == 0 {
			t.Errorf("%+v: the answer is not due", test)
		}
		out, _, ok := r.sw.MeasureOut(0, nil, r.now+7, 0)
		a, reason := format.ParseEcho(out, asker)
		if !ok || reason != macctl.ReasonNone || !a.Answer || a.Came != test.back || a.Way != test.way || a.Length != 200 || a.Sent-a.Received != 7 || a.HasTag != test.tagged || a.Sequence != 5 {
			t.Errorf("%+v: %v, %v, %+v", test, ok, reason, a)
		}
		if _, _, ok := r.sw.MeasureOut(0, nil, r.now, 0); ok {
			t.Errorf("%+v: answered twice", test)
		}
		r.sw.Measurement(0, b, r.now, r.now, 0)
		r.sw.SetUp(0, false, r.now)
		r.sw.SetUp(0, true, r.now)
		if _, _, ok := r.sw.MeasureOut(0, nil, r.now, 0); ok {
			t.Errorf("%+v: answered after the link was down", test)
		}
	}
	cfg := testConfig(2)
	cfg.Measurement = format
	r := newRig(t, cfg, testPort(0), testPort(1))
	b := format.AppendEcho(nil, [6]byte{2, 0, 0, 0, 0, 0x11}, asker, macctl.WayBridged, 60, false, 0, macctl.Echo{Answer: true})
	r.offer(0, b) // an answer to another station
	if _, _, ok := r.sw.MeasureOut(0, nil, r.now, 0); ok || len(r.sentBy(2)[1]) != 1 {
		t.Error("an answer for a station behind the switch is not forwarded to it")
	}
}
