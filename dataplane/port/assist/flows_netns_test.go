package assist

import (
	"errors"
	"os"
	"testing"

	"pfcswitch/dataplane/assert"
)

// entered returns how many flows the map has.
func (m *Maps) entered(t *testing.T) (n int) {
	t.Helper()
	var k programFlowKey
	var v programFlow
	for all := m.maps.Flows.Iterate(); all.Next(&k, &v); n++ {
		assert.True(t, v.Generation <= m.Generation(), "a flow of generation %d in generation %d", v.Generation,
			m.Generation())
	}
	return n
}

// enter enters so many flows of a port.
func (p *Port) enter(t *testing.T, flows int) {
	t.Helper()
	for i := range flows {
		f := Flow{Dst: [6]byte{2, 1}, Src: [6]byte{2, byte(i >> 8), byte(i)}, TCI: Untagged, DSCP: NoDSCP}
		assert.Must(t, p.Enter(&f, &Way{Until: 1 << 60, Generation: p.maps.Generation()}, 0))
	}
}

// A port with too many flows starts anew. Where the ports together have too many, no port loses what it has, and all
// start anew when the map is cleared.
func TestFullFlowMap(t *testing.T) {
	m, err := open(MaxFlows + 10)
	if errors.Is(err, ErrNotAllowed) && os.Getuid() != 0 {
		t.Skip(err)
	}
	assert.Must(t, err)
	t.Cleanup(func() { assert.Must(t, m.Close()) })
	m.Forget()
	a, err := newOutlet(t).attach(m, 0, "", "a")
	assert.Must(t, err)
	b, err := newOutlet(t).attach(m, 1, "", "b")
	assert.Must(t, err)

	a.enter(t, MaxFlows)
	if n := m.entered(t); n != MaxFlows || a.Overflows() || m.Full() {
		t.Errorf("%d flows, overflow %v, full %v", n, a.Overflows(), m.Full())
	}
	b.enter(t, 20)
	n := m.entered(t)
	assert.True(t, n == MaxFlows+10 && m.Full(), "%d flows, full %v; want a full map", n, m.Full())
	assert.Must(t, m.Clear())
	n = m.entered(t)
	assert.True(t, n == 0 && !m.Full(), "cleared, and %d flows, full %v", n, m.Full())
	b.enter(t, 20)
	a.enter(t, 20)
	n = m.entered(t)
	assert.True(t, n == 40 && !m.Full(), "%d flows, full %v; want those in use", n, m.Full())
	assert.Must(t, b.forgetFlows(nil))
	a.enter(t, MaxFlows)
	assert.True(t, !a.Overflows(), "flows of before the map was cleared make others overflow")
	a.enter(t, MaxFlows+5)
	if n := m.entered(t); n != 5 || !a.Overflows() || b.Overflows() {
		t.Errorf("%d flows, overflows %v and %v; want the new ones of the first port", n, a.Overflows(), b.Overflows())
	}
	assert.Must(t, errors.Join(a.Close(), b.Close()))
	n = m.entered(t)
	assert.True(t, n <= 0, "%d flows are left of closed ports", n)
}
