package port

import "testing"

func TestClockStep(t *testing.T) {
	for name, test := range map[string]struct {
		step func(look int64) int64
		want int64
	}{
		"every look":           {func(look int64) int64 { return 40 * look }, 40},
		"every tenth look":     {func(look int64) int64 { return look / 10 * 250 }, 250},
		"it is set back":       {func(look int64) int64 { return 7*look - look/100*10_000 }, 7},
		"it never moves":       {func(int64) int64 { return 5 }, 1000},
		"it only goes back":    {func(look int64) int64 { return -look }, 1000},
		"the step is not even": {func(look int64) int64 { return 100*look + look%2*30 }, 70},
	} {
		look := int64(0)
		got := ClockStep(func() int64 { look++; return test.step(look) })
		if got != test.want {
			t.Errorf("%s: %d ns, want %d", name, got, test.want)
		}
	}
}

func TestClockError(t *testing.T) {
	for name, test := range map[string]struct {
		apart func(look int64) int64
		want  int64
	}{
		"always the same":             {func(int64) int64 { return 1e15 }, leastError},
		"by 2 µs more or less":        {func(look int64) int64 { return 1e15 + look%2*2000 }, 4000},
		"once in a while much less":   {func(look int64) int64 { return 1e15 - look%100/99*1_000_000 }, leastError},
		"no two looks are alike":      {func(look int64) int64 { return look * 1_000_000 }, worstError},
		"the real-time clock was set": {func(look int64) int64 { return look / 990 * 1_000_000 }, leastError},
	} {
		look := int64(0)
		got := ClockError(func() (a, b int64) { look++; return look * 50, look*50 + test.apart(look) })
		if got != test.want {
			t.Errorf("%s: %d ns, want %d", name, got, test.want)
		}
	}
}
