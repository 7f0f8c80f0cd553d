package daemon

import (
	"testing"

	"pfcswitch/dataplane"
)

func TestTuning(t *testing.T) {
	for text, want := range map[string]dataplane.Tuning{
		"spin=none":                        {Spin: dataplane.SpinNone},
		"spin=short":                       {Spin: dataplane.SpinShort},
		"spin=most":                        {Spin: dataplane.SpinMost},
		"spin=endless":                     {Spin: dataplane.SpinEndless},
		"burst=8":                          {BurstFrames: 8},
		"bursts=16":                        {Bursts: 16},
		"gather=none":                      {NoGather: true},
		"turn=fixed,control=frame":         {FixedTurn: true, EachFrame: true},
		"burst=256,bursts=1024,spin=none":  {Spin: dataplane.SpinNone, BurstFrames: 256, Bursts: 1024},
		"control=frame,burst=1,turn=fixed": {BurstFrames: 1, FixedTurn: true, EachFrame: true},
	} {
		var got Tuning
		if err := got.Set(text); err != nil || got.value != want || got.String() != text {
			t.Errorf("%s: %+v, %v, want %+v", text, got.value, err, want)
		}
	}
	for _, text := range []string{"", ",", "spin", "spin=", "spin=some", "burst=0", "burst=257", "burst=-1", "burst=x", "bursts=1025", "turn=", "burst=8,", "control=burst"} {
		var got Tuning
		if err := got.Set(text); err == nil || got != (Tuning{}) {
			t.Errorf("%q was taken: %+v", text, got.value)
		}
	}
}
