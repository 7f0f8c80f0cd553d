package buffer

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

var drawFree = rapid.Int64Range(0, MaxSize)

func TestDynamicThresholdExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exponent := rapid.IntRange(-10, 10).Draw(t, "exponent")
		odd := rapid.Int64Range(1, 1<<13-1).Draw(t, "odd") // 13 significant bits
		free := drawFree.Draw(t, "free")
		alpha := new(big.Rat).SetFrac64(odd, 1<<12)
		if exponent < 0 {
			alpha.Quo(alpha, new(big.Rat).SetInt64(1<<-exponent))
		} else {
			alpha.Mul(alpha, new(big.Rat).SetInt64(1<<exponent))
		}
		a, exact := alpha.Float64()
		assert.MustBeTrue(t, exact, "α = %v is not a float64", alpha)
		product := new(big.Rat).Mul(alpha, new(big.Rat).SetInt64(free))
		want := new(big.Int).Quo(product.Num(), product.Denom()).Int64()
		assert.MustEqual(t, (DynamicThreshold{}).Limit(QueueID{}, QueueConfig{Alpha: a}, free), want,
			"α = %v, free = %d: T", a, free)
	})
}

// For any α, T is within a byte of the real product, and never falls when the free part of the segment grows.
func TestDynamicThresholdMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := QueueConfig{Alpha: rapid.Float64Range(MinAlpha, MaxAlpha).Draw(t, "alpha")}
		a, b := drawFree.Draw(t, "a"), drawFree.Draw(t, "b")
		if rapid.Bool().Draw(t, "next to each other") {
			b = a + 1
		}
		low, high := min(a, b), max(a, b)
		limit := func(free int64) int64 { return DynamicThreshold{}.Limit(QueueID{}, c, free) }
		assert.MustBeTrue(t, limit(low) <= limit(high), "T(%d) = %d > T(%d) = %d", low, limit(low), high, limit(high))
		product := new(big.Rat).Mul(new(big.Rat).SetFloat64(c.Alpha), new(big.Rat).SetInt64(a))
		floor := new(big.Int).Quo(product.Num(), product.Denom()).Int64()
		d := limit(a) - floor
		assert.MustBeTrue(t, d >= 0 && d <= 1, "T(%d) = %d, the real product is %d", a, limit(a), floor)
	})
}

func TestThresholdLimits(t *testing.T) {
	tests := []struct {
		name   string
		policy Threshold
		queue  QueueConfig
		free   int64
		want   int64
	}{
		{"dynamic, nothing free", DynamicThreshold{}, QueueConfig{Alpha: 8}, 0, 0},
		{"dynamic, overfull", DynamicThreshold{}, QueueConfig{Alpha: 8}, -5, 0},
		{"dynamic, all and most", DynamicThreshold{}, QueueConfig{Alpha: MaxAlpha}, MaxSize, 1024 * MaxSize},
		{"dynamic, truncated", DynamicThreshold{}, QueueConfig{Alpha: MinAlpha}, 1023, 0},
		{"static, nothing free", StaticThreshold{}, QueueConfig{Alpha: 8, Xoff: 700}, 0, 700},
		{"static, all free", StaticThreshold{}, QueueConfig{Alpha: 8, Xoff: 700}, MaxSize, 700},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.policy.Limit(QueueID{}, tt.queue, tt.free), tt.want, "%s: T", tt.name)
	}
}

// fairByCount is a policy from outside of the package: it uses the queue's identity and a state of its own.
type fairByCount struct{ congested map[QueueID]bool }

func (f fairByCount) Limit(id QueueID, c QueueConfig, free int64) int64 {
	f.congested[id] = true
	return DynamicThreshold{}.Limit(id, c, free) / int64(len(f.congested))
}

func (fairByCount) Check(QueueConfig) error { return nil }

func TestThresholdPlugsIn(t *testing.T) {
	policy := fairByCount{map[QueueID]bool{}}
	m, w := newTable(t, 1200, Config{Threshold: policy}, QueueConfig{}, QueueConfig{}, QueueConfig{})
	clear(policy.congested)
	mustAdmit(t, m, 0, pgA, 300, Accept)
	mustAdmit(t, m, 1, pgA, 500, DropHeadroom) // T = (1200 - 300) / 2
	mustAdmit(t, m, 1, pgA, 300, Accept)
	mustAdmit(t, m, 2, pgA, 300, DropHeadroom) // T = (1200 - 600) / 3
	mustAdmit(t, m, 2, pgA, 200, Accept)
	wantOff(t, m, w, 0, pgA, false)
}
