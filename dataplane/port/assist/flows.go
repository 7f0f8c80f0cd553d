package assist

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A Flow is what decides about frames that a port receives: those with the same values leave by the same port, with the
// same priority.
type Flow struct {
	Dst, Src [6]byte
	TCI      uint16 // of the outer tag, whose EtherType is 0x8100; Untagged where there is none
	DSCP     uint8  // NoDSCP where the frame is not IP
}

// Values of a Flow.
const (
	Untagged = 0xffff // a tag with this TCI takes no fast path
	NoDSCP   = 0xff
)

// A Way is where the frames of a flow go.
type Way struct {
	Out        int    // number of the egress port
	Index      int    // of its interface: a veth whose far end is in another namespace
	Priority   uint8  // also the egress queue
	Limit      int    // longest frame that is no GSO frame, octets without tag and FCS
	GSOLimit   int    // longest GSO frame
	Until      int64  // when the way ends, by the switch's clock
	Generation uint32 // what Maps.Generation was when the switch decided
}

// MaxFlows is how many flows of one port may be in the map of all ports, which holds MaxAllFlows. A host that makes up
// stations fills it for its own port only.
const (
	MaxFlows    = 1024
	MaxAllFlows = 16 * MaxFlows
)

// Enter lets the frames of a flow take the fast path at time now. It costs a system call for a new flow, and nothing
// where the flow is in force already, or the map is full. Only one goroutine may call it.
func (p *Port) Enter(f *Flow, w *Way, now int64) error {
	inForce := func(k *Way) bool { return k.Generation == w.Generation && now < k.Until }
	known, ok := p.flows[*f]
	if ok && inForce(&known) || p.refused == w.Generation {
		return nil
	}
	if !ok && len(p.flows) >= MaxFlows {
		if err := p.forgetFlows(inForce); err != nil {
			return err
		}
		if len(p.flows) == MaxFlows {
			p.overflows.Store(true)
			if err := p.forgetFlows(nil); err != nil {
				return err
			}
		}
	}
	v := programFlow{Until: uint64(w.Until + p.offset), Generation: w.Generation, Ifindex: uint32(w.Index),
		Limit: uint32(w.Limit), GsoLimit: uint32(w.GSOLimit), Out: uint32(w.Out), Priority: w.Priority}
	err := p.maps.maps.Flows.Update(p.key(f), &v, ebpf.UpdateAny)
	if errors.Is(err, unix.E2BIG) {
		p.refused = w.Generation
		p.maps.full.Store(true)
		return nil
	}
	if err != nil {
		return fmt.Errorf("assist: enter a flow: %w", err)
	}
	p.flows[*f] = *w
	return nil
}

func (p *Port) key(f *Flow) *programFlowKey {
	return &programFlowKey{Dst: f.Dst, Src: f.Src, Tci: f.TCI, Dscp: f.DSCP, In: uint8(p.number)}
}

// forgetFlows takes the flows of the port out of the map whose ways keep does not accept; nil accepts none.
func (p *Port) forgetFlows(keep func(*Way) bool) error {
	for f, w := range p.flows {
		if keep != nil && keep(&w) {
			continue
		}
		if err := p.maps.maps.Flows.Delete(p.key(&f)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("assist: forget a flow: %w", err)
		}
		delete(p.flows, f)
	}
	return nil
}

// Overflows reports whether the port has had more than MaxFlows flows in force.
func (p *Port) Overflows() bool { return p.overflows.Load() }

// Full reports whether the ports together have had more than MaxAllFlows flows since Clear.
func (m *Maps) Full() bool { return m.full.Load() }

// Clear takes all flows out of the map. The ports enter those again that are in use.
func (m *Maps) Clear() error {
	var cursor ebpf.MapBatchCursor
	keys, values := make([]programFlowKey, flowsAtOnce), make([]programFlow, flowsAtOnce)
	for {
		_, err := m.maps.Flows.BatchLookupAndDelete(&cursor, keys, values, nil)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("assist: clear the flows: %w", err)
		}
	}
	m.full.Store(false)
	m.Forget() // last, so that each port finds that its flows are no longer in force
	return nil
}

// A Sighting says when a frame of a station came last whose way is entered, by the switch's clock and to the second.
type Sighting struct {
	Port int // that it came by
	Src  [6]byte
	TCI  uint16 // of its tag; Untagged
	At   int64
}

// flowsAtOnce is how many flows one system call reads.
const flowsAtOnce = 256

// Sightings appends the flows whose last frame came after since, by the switch's clock; offset is Port.Offset of any
// port. A flow that is entered meanwhile may be missing.
func (m *Maps) Sightings(dst []Sighting, since, offset int64) ([]Sighting, error) {
	var cursor ebpf.MapBatchCursor
	keys, values := make([]programFlowKey, flowsAtOnce), make([]programFlow, flowsAtOnce)
	for {
		n, err := m.maps.Flows.BatchLookup(&cursor, keys, values, nil)
		for i := range n {
			if at := int64(values[i].Last) - offset; values[i].Last != 0 && at > since {
				dst = append(dst, Sighting{Port: int(keys[i].In), Src: keys[i].Src, TCI: keys[i].Tci, At: at})
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return dst, nil
		}
		if err != nil {
			return dst, fmt.Errorf("assist: read the flows: %w", err)
		}
	}
}
