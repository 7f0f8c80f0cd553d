package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A port answers who asks how frames pass its link, whichever way the question comes, without a Prober; and only what
// is for it.
func TestEchoIsAnswered(t *testing.T) {
	asker := [6]byte{2, 0, 0, 0, 0, 9}
	format := macctl.DefaultMeasurementFormat
	for _, test := range []struct {
		way, back macctl.EchoPath
		tagged    bool
	}{
		{macctl.PathControl, macctl.PathFallback, false}, {macctl.PathFallback, macctl.PathControl, false},
		{macctl.PathFallback, macctl.PathFallback, true}, {macctl.PathBridged, macctl.PathBridged, false},
	} {
		cfg := testConfig(2)
		cfg.Measurement = format
		r := newRig(t, cfg, testPorts(2)...)
		b := format.AppendEcho(nil, [6]byte{}, asker, test.way, 200, test.tagged, 0x6005, macctl.Echo{Sequence: 5,
			Octets: 200, Path: test.back, Tagged: test.tagged, TCI: 0x6005})
		if test.way == macctl.PathControl {
			taken, urgent := r.sw.Measurement(0, b, false, r.now, r.now, 0)
			assert.MustBeTrue(t, taken && urgent, "%+v: taken %v, urgent %v", test, taken, urgent)
		} else {
			r.offer(0, b)
		}
		c := r.count(0)
		assert.True(t, c.ReceivedFrames == 0 && len(r.sentBy(2)[1]) == 0, "%+v: counted as data, or forwarded", test)
		assert.True(t, r.sw.MeasureDeadline(0) == 0 && r.sw.MeasureDeadline(1) != 0, "%+v: the answer is not due", test)
		out, _, ok := r.sw.MeasureOut(0, nil, r.now+7, 0)
		a, reason := format.ParseEcho(out, asker)
		assert.True(t, ok && reason == macctl.ReasonNone && a.Answer && a.ReceivedPath == test.back &&
			a.Path == test.way && a.Length == 200 && a.Sent-a.Received == 7 && a.HasTag == test.tagged &&
			a.Sequence == 5, "%+v: %v, %v, %+v", test, ok, reason, a)
		_, _, ok = r.sw.MeasureOut(0, nil, r.now, 0)
		assert.True(t, !ok, "%+v: answered twice", test)
		r.sw.Measurement(0, b, false, r.now, r.now, 0)
		r.sw.SetUp(0, false, r.now)
		r.sw.SetUp(0, true, r.now)
		_, _, ok = r.sw.MeasureOut(0, nil, r.now, 0)
		assert.True(t, !ok, "%+v: answered after the link was down", test)
	}
	cfg := testConfig(2)
	cfg.Measurement = format
	r := newRig(t, cfg, testPorts(2)...)
	b := format.AppendEcho(nil, [6]byte{2, 0, 0, 0, 0, 0x11}, asker, macctl.PathBridged, 60, false, 0,
		macctl.Echo{Answer: true})
	r.offer(0, b) // an answer to another station
	_, _, ok := r.sw.MeasureOut(0, nil, r.now, 0)
	assert.True(t, !ok && len(r.sentBy(2)[1]) == 1, "an answer for a station behind the switch is not forwarded to it")
}

// An answer says how the checksum of the question came: a port without a speed leaves a marked one as it is.
func TestEchoTellsOfTheChecksum(t *testing.T) {
	asker := [6]byte{2, 0, 0, 0, 0, 9}
	cfg := testConfig(2)
	cfg.Measurement = macctl.DefaultMeasurementFormat
	for _, test := range []struct {
		asked macctl.Checksum // in the question; the sum is missing where it is ChecksumWrong
		vnet  frame.VnetHeader
		want  macctl.Checksum
	}{
		{macctl.ChecksumNone, frame.VnetHeader{}, macctl.ChecksumNone},
		{macctl.ChecksumWrong, frame.VnetHeader{}, macctl.ChecksumWrong},
		{macctl.ChecksumWrong, frame.VnetHeader{Flags: frame.VnetNeedsCsum, CsumStart: macctl.EchoSumOffset},
			macctl.ChecksumUnfinished},
	} {
		r := newRig(t, cfg, testPorts(2)...)
		r.burst = r.receive(0, [][]byte{cfg.Measurement.AppendEcho(nil, [6]byte{}, asker, macctl.PathFallback, 60,
			false, 0, macctl.Echo{Octets: 60, Path: macctl.PathFallback, Checksum: test.asked})})
		r.burst[0].Vnet = test.vnet
		taken, stop := r.sw.Ingress(0, r.burst, 0, r.now, 0)
		assert.MustBeTrue(t, taken == 1 && stop == Done, "Ingress: %d, %v", taken, stop)
		out, _, _ := r.sw.MeasureOut(0, nil, r.now, 0)
		a, reason := cfg.Measurement.ParseEcho(out, asker)
		assert.True(t, reason == macctl.ReasonNone && a.Checksum == test.want, "%+v: %v, %+v", test, reason, a)
	}
}

// An answer is a frame of its priority: not sent while that is paused, and paid for. As MAC Control it passes a pause.
func TestEchoObeysPauses(t *testing.T) {
	format := macctl.DefaultMeasurementFormat
	for _, test := range []struct {
		name     string
		back     macctl.EchoPath
		octets   int
		tagged   bool
		pcp      uint8
		paused   uint8
		answered bool
	}{
		{"tagged and paused", macctl.PathFallback, 1500, true, lossless, lossless, false},
		{"bridged and paused", macctl.PathBridged, 1500, true, lossless, lossless, false},
		{"another priority", macctl.PathFallback, 1500, true, 5, lossless, true},
		{"no tag", macctl.PathFallback, 1500, false, 0, lossless, true},
		{"MAC Control", macctl.PathControl, 60, false, 0, lossless, true},
	} {
		cfg := testConfig(2)
		cfg.Measurement = format
		r := newRig(t, cfg, testPorts(2)...)
		r.hear(0, test.paused, 0xffff)
		tci := uint16(test.pcp) << 13
		for range 3 {
			r.offer(0, format.AppendEcho(nil, [6]byte{}, [6]byte{2, 0, 0, 0, 0, 9}, macctl.PathFallback, test.octets,
				test.tagged, tci, macctl.Echo{Octets: test.octets, Path: test.back, Tagged: test.tagged, TCI: tci}))
		}
		p, answers := r.sw.ports[0], 0
		before := p.shaper
		for range 5 {
			if _, _, ok := r.sw.MeasureOut(0, nil, r.now, 0); ok {
				answers++
			}
		}
		assert.True(t, (answers == 3) == test.answered && (answers == 0 || test.answered),
			"%s: %d of 3 answered", test.name, answers)
		assert.Equal(t, p.shaper != before, test.answered && test.back != macctl.PathControl, "%s: paid", test.name)
		assert.True(t, r.sw.MeasureDeadline(0) != 0 && p.echo.Answered+p.echo.Refused == 3,
			"%s: something is left, or %d answered and %d refused", test.name, p.echo.Answered, p.echo.Refused)
	}
}
