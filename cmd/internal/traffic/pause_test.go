package traffic

import (
	"testing"
	"time"
)

func TestBlocked(t *testing.T) {
	const ms = time.Millisecond
	at := time.Unix(1000, 0)
	once := Blocking{At: at, For: 10 * ms}
	again := Blocking{At: at, For: 10 * ms, Every: 25 * ms, Times: 3}
	for _, tt := range []struct {
		after       time.Duration
		once, again bool
	}{
		{-time.Hour, false, false}, {-1, false, false}, {0, true, true}, {10*ms - 1, true, true},
		{10 * ms, false, false},
		{25*ms - 1, false, false}, {25 * ms, false, true}, {35*ms - 1, false, true}, {35 * ms, false, false},
		{50 * ms, false, true}, {60 * ms, false, false},
		{75 * ms, false, false}, {time.Hour, false, false}, // three times, and no more
	} {
		if got := once.active(at.Add(tt.after)); got != tt.once {
			t.Errorf("once, after %v: %v", tt.after, got)
		}
		if got := again.active(at.Add(tt.after)); got != tt.again {
			t.Errorf("again, after %v: %v", tt.after, got)
		}
	}
	if never := (Blocking{}); never.active(at) || never.active(time.Time{}) {
		t.Error("a sink that is not to block does")
	}
}
