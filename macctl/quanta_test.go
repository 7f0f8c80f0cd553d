package macctl

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

const (
	mega = 1_000_000
	giga = 1_000_000_000
)

func TestQuantaDuration(t *testing.T) {
	tests := []struct {
		quanta uint16
		speed  int64
		want   int64 // ns
	}{
		{0, giga, 0},
		{1, 10 * mega, 51_200},
		{0xFFFF, 10 * mega, 3_355_392_000},
		{1, 100 * mega, 5_120},
		{0xFFFF, 100 * mega, 335_539_200},
		{1, giga, 512},
		{0xFFFF, giga, 33_553_920},
		{1, 10 * giga, 52}, // 51.2
		{5, 10 * giga, 256},
		{0xFFFF, 10 * giga, 3_355_392},
		{1, 25 * giga, 21}, // 20.48
		{0xFFFF, 25 * giga, 1_342_157},
		{0xFFFF, 40 * giga, 838_848},
		{0xFFFF, 100 * giga, 335_540},
		{1, 400 * giga, 2}, // 1.28
		{0xFFFF, 400 * giga, 83_885},
		{0xFFFF, 1, 33_553_920_000_000_000},
		{0xFFFF, 0, 3_355_392}, // nominal
		{0xFFFF, -1, 3_355_392},
	}
	for _, tt := range tests {
		assert.Equal(t, QuantaDuration(tt.quanta, tt.speed), tt.want, "QuantaDuration(%d, %d)", tt.quanta, tt.speed)
	}
}

func TestResponseLimitBits(t *testing.T) {
	tests := []struct{ speed, want int64 }{
		{10 * mega, 512},
		{100 * mega, 512},
		{100*mega + 1, 1024},
		{giga, 1024},
		{2500 * mega, 30_720},
		{10 * giga, 30_720},
		{25 * giga, 40_960},
		{40 * giga, 60_416},
		{50 * giga, 75_264},
		{56 * giga, 201_728},
		{100 * giga, 201_728},
		{200 * giga, 231_936},
		{400 * giga, 463_360},
		{800 * giga, 463_360},
		{0, 30_720}, // nominal
	}
	for _, tt := range tests {
		assert.Equal(t, ResponseLimitBits(tt.speed), tt.want, "ResponseLimitBits(%d)", tt.speed)
	}
}

func TestQuantaForIsTheLeastThatLasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Int64Range(mega, 400*giga).Draw(t, "speed")
		longest := QuantaDuration(0xFFFF, speed)
		ns := rapid.Int64Range(1, 2*longest).Draw(t, "ns")
		q := quantaFor(ns, speed)
		if ns > longest {
			assert.MustEqual(t, q, 0xFFFF, "%d ns are beyond all quanta", ns)
			return
		}
		got := QuantaDuration(q, speed)
		assert.True(t, got >= ns, "%d quanta last %d ns, want at least %d", q, got, ns)
		got = QuantaDuration(q-1, speed)
		assert.True(t, q != 0 && got < ns, "%d quanta would do for %d ns, got %d", q-1, ns, q)
	})
}

func TestLeastQuantaCanBeRefreshed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.Int64Range(10*mega, 400*giga).Draw(t, "speed")
		wake := rapid.Int64Range(0, 20*mega).Draw(t, "wake-up delay")
		q := minRefreshQuanta(speed, wake)
		assert.MustBeTrue(t, q != 0, "0 quanta would resume the peer")
		after := refreshInterval(q, speed, wake)
		assert.True(t, q == 0xFFFF || after >= MinRefresh, "%d quanta have to be refreshed after %d ns", q, after)
		assert.True(t, q <= 1 || q == 0xFFFF || refreshInterval(q-1, speed, wake) < MinRefresh,
			"%d quanta would do, got %d", q-1, q)
	})
}
