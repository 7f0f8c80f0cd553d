package macctl

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRefreshInterval(t *testing.T) {
	tests := []struct {
		name      string
		quanta    uint16
		speed     int64
		wakeDelay int64
		want      int64
	}{
		{"half", 0xFFFF, giga, 100_000, 16_776_960},
		{"half at 10G", 0xFFFF, 10 * giga, 100_000, 1_677_696},
		{"wake-up delay earlier than half", 0xFFFF, 10 * giga, 500_000, 1_355_392},
		{"both the same", 1000, giga, 64_000, 256_000},
		{"half below the least", 0xFFFF, 400 * giga, 0, 41_942},
		{"nothing left", 0xFFFF, 10 * giga, 1_000_000, -644_608},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := RefreshInterval(tt.quanta, tt.speed, tt.wakeDelay); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestLeastQuantaCanBeRefreshed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Int64Range(10*mega, 400*giga).Draw(t, "speed")
		wake := rapid.Int64Range(0, 20*mega).Draw(t, "wake-up delay")
		q := minRefreshQuanta(speed, wake)
		if q == 0 {
			t.Fatal("0 quanta would resume the peer")
		}
		if after := RefreshInterval(q, speed, wake); q < 0xFFFF && after < MinRefresh {
			t.Errorf("%d quanta have to be refreshed after %d ns", q, after)
		}
		if q > 1 && q < 0xFFFF && RefreshInterval(q-1, speed, wake) >= MinRefresh {
			t.Errorf("%d quanta would do, got %d", q-1, q)
		}
	})
}
