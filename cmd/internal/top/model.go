package top

import (
	"cmp"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
)

// A key is a command of the user.
type key int

const (
	keyNone key = iota
	keyQuit
	keyHelp
	keySort
	keyUp
	keyDown
	keyEnter
	keyEscape
)

// runes are the letter keys.
var runes = map[string]key{"q": keyQuit, "h": keyHelp, "?": keyHelp, "s": keySort, "k": keyUp, "j": keyDown}

// An order sorts ports, the largest value first.
type order struct {
	name string
	of   func(*api.Port, *model) float64
}

var orders = []order{
	{"configuration", func(*api.Port, *model) float64 { return 0 }},
	{"received", func(p *api.Port, _ *model) float64 { return recent(p).ReceiveBits }},
	{"sent", func(p *api.Port, _ *model) float64 { return recent(p).TransmitBits }},
	{"held by the peer", func(p *api.Port, m *model) float64 {
		return maxShare(m.pfc(p.Port), func(r *api.PFCRecent) float64 { return r.ReceivedPausedShare })
	}},
	{"holding the peer", func(p *api.Port, m *model) float64 {
		return maxShare(m.pfc(p.Port), func(r *api.PFCRecent) float64 { return r.SentPausedShare })
	}},
	{"drops", func(p *api.Port, _ *model) float64 { return recent(p).DroppedFrames }},
}

func recent(p *api.Port) api.PortRecent {
	if p.Recent == nil {
		return api.PortRecent{}
	}
	return *p.Recent
}

// maxShare is the largest share among the priorities of a port.
func maxShare(p *api.PFCPort, of func(*api.PFCRecent) float64) (share float64) {
	if p == nil {
		return 0
	}
	for _, q := range p.Priorities {
		if q.Recent != nil {
			share = max(share, of(q.Recent))
		}
	}
	return share
}

// A model is what the screen shows.
type model struct {
	path  string
	delay time.Duration

	state     *api.State // the newest; nil before the first
	events    []api.Event
	fault     string    // why the newest question has no answer; empty where it has one
	dead      time.Time // since when
	restarted time.Time // when the switch was seen to have been started again; zero: never

	order            int
	chosen           string // port
	only, help, quit bool
}

func newModel(path string, delay time.Duration) *model { return &model{path: path, delay: delay} }

// update shows an answer. Without an answer the last one stays and is marked as old.
func (m *model) update(a answer, now time.Time) {
	if a.err != nil {
		if m.fault == "" {
			m.dead = now
		}
		m.fault = a.err.Error()
		return
	}
	if m.state != nil {
		api.Since(a.state, m.state)
		if api.Restarted(a.state, m.state) {
			m.restarted = now
		}
	}
	m.state, m.events, m.fault = a.state, a.events, ""
	if i := m.position(); i < 0 && len(m.state.Ports) > 0 {
		m.chosen = m.state.Ports[0].Port
	}
}

// key executes a command of the user.
func (m *model) key(k key) {
	switch k {
	case keyQuit:
		m.quit = true
	case keyHelp:
		m.help = !m.help
	case keySort:
		m.order = (m.order + 1) % len(orders)
	case keyUp:
		m.move(-1)
	case keyDown:
		m.move(1)
	case keyEnter:
		m.only = !m.only
	case keyEscape:
		m.only, m.help = false, false
	}
}

func (m *model) move(by int) {
	ports := m.sorted()
	if len(ports) > 0 {
		m.chosen = ports[min(max(0, m.position()+by), len(ports)-1)].Port
	}
}

// position is the index of the chosen port in sorted order, -1 if the port does not exist.
func (m *model) position() int {
	return slices.IndexFunc(m.sorted(), func(p *api.Port) bool { return p.Port == m.chosen })
}

// sorted returns the ports in the chosen order.
func (m *model) sorted() []*api.Port {
	if m.state == nil {
		return nil
	}
	ports := make([]*api.Port, len(m.state.Ports))
	for i := range ports {
		ports[i] = &m.state.Ports[i]
	}
	of := orders[m.order].of
	slices.SortStableFunc(ports, func(a, b *api.Port) int { return cmp.Compare(of(b, m), of(a, m)) })
	return ports
}

// pfc returns the flow control of a port, nil without an interface.
func (m *model) pfc(port string) *api.PFCPort {
	for i := range m.state.PFC {
		if m.state.PFC[i].Port == port {
			return &m.state.PFC[i]
		}
	}
	return nil
}
