package buffer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// goodConfig is one port with one lossless queue, in a pool that it just fits.
func goodConfig() (Config, map[int]PortConfig) {
	pc := PortConfig{Name: "p1", Mode: macctl.ModePFC, Lossless: 1 << 3, MTU: 1518}
	pc.Queues[3] = QueueConfig{Private: 4096, Headroom: 64 << 10, Xon: 16 << 10, XonOffset: 4096, Xoff: 32 << 10,
		Alpha: 2}
	c := Config{
		Cell:     256,
		Lossless: PoolConfig{Size: 4096 + 64<<10 + 2*1536, Alpha: 1},
		Lossy:    PoolConfig{Size: 4 << 20, Alpha: 1},
	}
	return c, map[int]PortConfig{1: pc}
}

func TestPlan(t *testing.T) {
	port := func(change func(*PortConfig)) func(*Config, map[int]PortConfig) {
		return func(_ *Config, ports map[int]PortConfig) {
			pc := ports[1]
			change(&pc)
			ports[1] = pc
		}
	}
	queue := func(change func(*QueueConfig)) func(*Config, map[int]PortConfig) {
		return port(func(pc *PortConfig) { change(&pc.Queues[3]) })
	}
	tests := []struct {
		name   string
		change func(*Config, map[int]PortConfig)
		want   []string // parts of the message; none: accepted
	}{
		{"exactly 2 MTU to share", func(*Config, map[int]PortConfig) {}, nil},
		{"static", func(c *Config, _ map[int]PortConfig) { c.Threshold = StaticThreshold{} }, nil},
		{"no cell", func(c *Config, _ map[int]PortConfig) { c.Cell = 0 }, []string{"cell 0 B"}},
		{"huge cell", func(c *Config, _ map[int]PortConfig) { c.Cell = 1<<16 + 1 }, []string{"cell 65537 B"}},
		{"pool size", func(c *Config, _ map[int]PortConfig) { c.Lossy.Size = -1 }, []string{"lossy pool: size -1 B"}},
		{"pool size above all bounds", func(c *Config, _ map[int]PortConfig) { c.Lossless.Size = MaxSize + 1 },
			[]string{"lossless pool: size"}},
		{"pool alpha", func(c *Config, _ map[int]PortConfig) { c.Lossless.Alpha = 0 },
			[]string{"lossless pool: alpha 0"}},
		{"pool alpha NaN", func(c *Config, _ map[int]PortConfig) { c.Lossy.Alpha = math.NaN() },
			[]string{"lossy pool: alpha NaN"}},
		{"pool ratio", func(c *Config, _ map[int]PortConfig) { c.Headroom.Ratio = 0.5 }, []string{"ratio 0.5"}},
		{"pool ratio NaN", func(c *Config, _ map[int]PortConfig) { c.Headroom.Ratio = math.NaN() },
			[]string{"ratio NaN"}},
		{"headroom pool size", func(c *Config, _ map[int]PortConfig) { c.Headroom.Size = -1 },
			[]string{"headroom pool: size -1 B"}},
		{"headroom pool twice", func(c *Config, _ map[int]PortConfig) {
			c.Headroom = HeadroomSharing{Ratio: 2, Size: 4096}
		}, []string{"contradict"}},
		{"dynamic headroom with a pool", func(c *Config, _ map[int]PortConfig) {
			c.Headroom = HeadroomSharing{Dynamic: true, Ratio: 2}
		}, []string{"needs no pool"}},
		{"every fault is named", func(c *Config, _ map[int]PortConfig) { c.Cell, c.Lossy.Size = 0, -1 },
			[]string{"cell 0 B", "size -1 B"}},
		{"port number", func(_ *Config, ports map[int]PortConfig) { ports[-1] = ports[1] }, []string{"port number -1"}},
		{"port number above all bounds", func(_ *Config, ports map[int]PortConfig) { ports[MaxPort+1] = ports[1] },
			[]string{"port number 65536"}},
		{"mode", port(func(pc *PortConfig) { pc.Mode = 9 }), []string{"p1: unknown flow control mode 9"}},
		{"no MTU", port(func(pc *PortConfig) { pc.MTU = 0 }), []string{"p1: MTU 0"}},
		{"no name", port(func(pc *PortConfig) { pc.Name, pc.MTU = "", 0 }), []string{"port 1: MTU 0"}},
		{"no MTU needed without lossless priority", port(func(pc *PortConfig) { pc.MTU, pc.Mode = 0, macctl.ModeOff }),
			nil},
		{"lossy alpha", port(func(pc *PortConfig) { pc.LossyAlpha[5] = 2000 }),
			[]string{"p1: alpha 2000 of lossy queue 5"}},
		{"private", queue(func(q *QueueConfig) { q.Private = -1 }), []string{"p1 priority 3: private -1 B"}},
		{"headroom", queue(func(q *QueueConfig) { q.Headroom = MaxSize + 1 }), []string{"p1 priority 3: headroom"}},
		{"xon", queue(func(q *QueueConfig) { q.Xon = -1 }), []string{"p1 priority 3: xon -1 B"}},
		{"xon_offset", queue(func(q *QueueConfig) { q.XonOffset = -2 }), []string{"p1 priority 3: xon_offset -2 B"}},
		{"xoff", queue(func(q *QueueConfig) { q.Xoff = -1 }), []string{"p1 priority 3: xoff -1 B"}},
		{"alpha", queue(func(q *QueueConfig) { q.Alpha = MaxAlpha * 2 }), []string{"p1 priority 3: alpha 2048"}},
		{"alpha infinite", queue(func(q *QueueConfig) { q.Alpha = math.Inf(1) }),
			[]string{"p1 priority 3: alpha +Inf"}},
		{"a queue that is not lossless is not looked at", port(func(pc *PortConfig) { pc.Queues[4].Private = -1 }),
			nil},
		{"static without xoff", func(c *Config, ports map[int]PortConfig) {
			c.Threshold = StaticThreshold{}
			queue(func(q *QueueConfig) { q.Xoff = 0 })(c, ports)
		}, []string{"p1 priority 3: policy static needs xoff"}},
		{"pause port is named by all",
			port(func(pc *PortConfig) { pc.Mode = macctl.ModePause; pc.Queues[0].Private = -1 }),
			[]string{"p1 priority all: private -1 B"}},
		{"a byte short of 2 MTU", func(c *Config, _ map[int]PortConfig) { c.Lossless.Size-- },
			[]string{"lossless pool 72448 B", "private 4096 B", "headroom 65536 B", "shared segment of 2816 B",
				"2 MTU for each of 1 lossless queues = 3072 B",
				"enlarge buffer.lossless.size to 72704 B", "p1 priority 3, headroom 65536 B, private 4096 B"}},
		{"sizes are rounded up to cells first", queue(func(q *QueueConfig) { q.Private++ }),
			[]string{"private 4352 B", "shared segment of 2816 B"}},
		{"headroom alone above the pool", queue(func(q *QueueConfig) { q.Headroom = 1 << 20 }),
			[]string{"shared segment of -979968 B"}},
		{"a second queue needs its 2 MTU", port(func(pc *PortConfig) { pc.Lossless |= 1 << 4 }),
			[]string{"2 lossless queues = 6144 B"}},
		{"the MTU would never fit", func(c *Config, ports map[int]PortConfig) {
			c.Lossless.Size = 1 << 20
			queue(func(q *QueueConfig) { *q = QueueConfig{Private: 256, Alpha: MinAlpha} })(c, ports)
		}, []string{"p1 priority 3: a frame of the MTU takes 1536 B",
			"headroom is 0 B, private 256 B and threshold at most 1023 B"}},
		{"the MTU fits headroom only", func(c *Config, ports map[int]PortConfig) {
			c.Lossless.Size = 1 << 20
			queue(func(q *QueueConfig) { *q = QueueConfig{Headroom: 1518, Alpha: MinAlpha} })(c, ports)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ports := goodConfig()
			tt.change(&c, ports)
			_, err := NewPlan(c, ports)
			assert.MustBeTrue(t, (err != nil) == (tt.want != nil), "got error %v, want one with %q", err, tt.want)
			assert.True(t, err == nil || (errors.Is(err, ErrConfig) && strings.HasPrefix(err.Error(), "buffer: ")),
				"%q is not an ErrConfig of package buffer", err)
			for _, part := range tt.want {
				assert.Contains(t, err.Error(), part, "message")
			}
		})
	}
}

// The message's size is the one that is accepted.
func TestPlanRemedy(t *testing.T) {
	c, ports := goodConfig()
	pc := ports[1]
	pc.Lossless = 0b1111_1000
	ports[1], ports[2] = pc, pc
	c.Lossless.Size = 1000
	_, err := NewPlan(c, ports)
	assert.MustBeTrue(t, err != nil, "accepted ten queues in 1000 B")
	_, remedy, _ := strings.Cut(err.Error(), "enlarge buffer.lossless.size to ")
	_, err = fmt.Sscan(remedy, &c.Lossless.Size)
	assert.MustNoError(t, err, "no size in %q", remedy)
	_, err = NewPlan(c, ports)
	assert.NoError(t, err, "the remedy is refused")
}

func TestNew(t *testing.T) {
	c, _ := goodConfig()
	_, err := New(c, nil)
	assert.True(t, errors.Is(err, ErrConfig), "New without flow controller: %v", err)
	c.Cell = 0
	_, err = New(c, quiet{})
	assert.True(t, errors.Is(err, ErrConfig), "New without cell: %v", err)
}

func TestCharge(t *testing.T) {
	tests := []struct {
		cell, n int
		want    int64
	}{
		{256, 0, 0}, {256, -1, 0}, {256, 1, 256}, {256, 256, 256}, {256, 257, 512}, {256, 1514, 1536},
		{256, 65550, 65792},
		{1, 60, 60}, {208, 60, 208}, {208, 209, 416},
	}
	for _, tt := range tests {
		m := &Manager{cell: int64(tt.cell)}
		assert.Equal(t, m.Charge(tt.n), tt.want, "cell %d: Charge(%d)", tt.cell, tt.n)
	}
}
