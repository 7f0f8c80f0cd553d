package classify

import (
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// distinct returns a Config whose priorities tell their source: the default is 7, codepoints have 0–6.
func distinct(trust Trust) Config {
	c := Config{Trust: trust, Default: 7}
	for dscp := range c.DSCP {
		c.DSCP[dscp] = uint8(dscp * 5 % 7)
	}
	return c
}

func TestPriority(t *testing.T) {
	for _, s := range specimens(t) {
		h, ok := frame.Parse(s.b)
		assert.MustBeTrue(t, ok, "%s: malformed", s.name)
		want := map[Trust]uint8{TrustPCP: 7, TrustDSCP: 7, TrustPort: 7}
		if s.pcp >= 0 {
			want[TrustPCP] = uint8(s.pcp)
		}
		if s.dscp >= 0 {
			want[TrustDSCP] = uint8(s.dscp * 5 % 7)
		}
		for trust, want := range want {
			c := distinct(trust)
			assert.Equal(t, c.Priority(s.b, h), want, "%s, trust %v: priority", s.name, trust)
		}
	}
}

func TestDefaultDSCP(t *testing.T) {
	m := DefaultDSCP()
	for dscp, want := range map[int]uint8{0: 0, 7: 0, 8: 1, 26: 3, 46: 5, 48: 6, 63: 7} {
		assert.Equal(t, m[dscp], want, "DSCP %d", dscp)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string // part of the error
	}{
		{"zero value", func(*Config) {}, ""},
		{"highest values", func(c *Config) { c.Trust, c.Default, c.DSCP[63] = TrustPort, 7, 7 }, ""},
		{"trust", func(c *Config) { c.Trust = 3 }, "trust(3) is unknown"},
		{"default", func(c *Config) { c.Default = 8 }, "default priority 8"},
		{"codepoint", func(c *Config) { c.DSCP[46] = 9 }, "DSCP 46 has priority 9"},
	}
	for _, tt := range tests {
		var c Config
		tt.change(&c)
		err := c.Validate()
		assert.True(t, (err == nil) == (tt.want == "") && (err == nil || strings.Contains(err.Error(), tt.want)),
			"%s: got %v, want %q", tt.name, err, tt.want)
		_, fanoutErr := c.Fanout(1)
		assert.True(t, (fanoutErr == nil) == (err == nil), "%s: Fanout: got %v, Validate: %v", tt.name, fanoutErr, err)
	}
}

func TestTrustString(t *testing.T) {
	for trust, want := range map[Trust]string{TrustPCP: "pcp", TrustDSCP: "dscp", TrustPort: "port", 9: "trust(9)"} {
		got := trust.String()
		assert.True(t, got == want, "got %q, want %q", got, want)
	}
}

func TestPriorityAllocatesNothing(t *testing.T) {
	c := distinct(TrustDSCP)
	b := specimens(t)[6].b
	n := testing.AllocsPerRun(100, func() {
		h, _ := frame.Parse(b)
		c.Priority(b, h)
	})
	assert.True(t, n == 0, "got %v allocations, want 0", n)
}

func BenchmarkPriority(b *testing.B) {
	tagged := specimens(b)[6].b
	for _, trust := range []Trust{TrustPCP, TrustDSCP} {
		b.Run(trust.String(), func(b *testing.B) {
			c := distinct(trust)
			b.ReportAllocs()
			for b.Loop() {
				h, _ := frame.Parse(tagged)
				assert.MustBeTrue(b, c.Priority(tagged, h) != 7, "not classified")
			}
		})
	}
}
