package dataplane

import (
	"fmt"
	"pfcswitch/dataplane/assert"
	"reflect"
	"slices"
	"testing"
)

// Every counter is added, also one that is new: each of the sum is what both parts have together.
func TestEveryCounterIsAdded(t *testing.T) {
	v, old := &PortSnapshot{}, &PortSnapshot{}
	counters := func(s *PortSnapshot) (all []reflect.Value) {
		for _, name := range []string{"Counters", "Received", "ControlSent", "PausedNs", "HeldNs", "PausedAllNs",
			"HeldAllNs", "Pauses", "Holds", "Reaction", "HeadroomUse"} {
			all = append(all, numbers(reflect.ValueOf(s).Elem().FieldByName(name))...)
		}
		return all
	}
	for i, n := range counters(v) {
		set(n, 3)
		set(counters(old)[i], 4)
	}
	v.Combine(old, Add)
	for i, n := range counters(v) {
		assert.MustBeTrue(t, fmt.Sprint(n) == "7", "counter %d of %d: got %v, want 7", i, len(counters(v)), n)
	}
}

// numbers returns the numbers below v that are counters.
func numbers(v reflect.Value) (all []reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains([]string{"RingFramesMax", "QueueBytes", "QueueBytesMax",
				"Peak", "Paced", "LeastLeft", "Ring", "LateNs",
				"Last"}, name) {
				all = append(all, numbers(v.Field(i))...)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			all = append(all, numbers(v.Index(i))...)
		}
	default:
		all = append(all, v)
	}
	return all
}

func set(v reflect.Value, n int) {
	if v.CanUint() {
		v.SetUint(uint64(n))
	} else {
		v.SetInt(int64(n))
	}
}

// The maxima of a port that comes back go on like its counters.
func TestMaximaOfAPortThatComesBack(t *testing.T) {
	r := newRig(t, testConfig(2), testPort(0), testPort(1))
	maxima := func(n int64, left XoffUse) *PortSnapshot {
		v := &PortSnapshot{}
		v.Counters.RingFramesMax, v.Counters.QueueBytesMax[lossless] = uint64(n), n
		v.HeadroomUse[lossless] = HeadroomUse{Peak: n, Paced: n, Ring: n, LateNs: n, LeastLeft: left}
		return v
	}
	for _, tt := range []struct{ now, before, want *PortSnapshot }{
		{maxima(3, XoffUse{4, 9}), maxima(5, XoffUse{1, 2}), maxima(5, XoffUse{1, 2})},
		{maxima(5, XoffUse{1, 2}), maxima(3, XoffUse{4, 9}), maxima(5, XoffUse{1, 2})},
		{maxima(0, XoffUse{}), maxima(3, XoffUse{4, 9}), maxima(3, XoffUse{4, 9})},
		{maxima(3, XoffUse{4, 9}), maxima(0, XoffUse{}), maxima(3, XoffUse{4, 9})},
	} {
		p := r.sw.ports[0]
		p.count, p.headroomUse[lossless].HeadroomUse = tt.now.Counters, tt.now.HeadroomUse[lossless]
		r.sw.keepPort(p.cfg.Name, &removedPort{PortSnapshot: *tt.before})
		got := r.snapshot().Ports[0]
		assert.True(t, got.Counters == tt.want.Counters && got.HeadroomUse == tt.want.HeadroomUse,
			"now %+v, before %+v: got %+v", tt.now.HeadroomUse[lossless], tt.before.HeadroomUse[lossless],
			got.HeadroomUse[lossless])
	}
}
