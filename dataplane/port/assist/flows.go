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

// maxFlows is how many flows of one port may be in the map of all ports. A host that makes up stations fills it for its
// own port only.
const maxFlows = 1024

// Enter lets the frames of a flow take the fast path at time now. It costs a system call for a new flow, and nothing
// where the flow is in force already. Only one goroutine may call it.
func (p *Port) Enter(f *Flow, w *Way, now int64) error {
	if known, ok := p.flows[*f]; ok && known.Generation == w.Generation && now < known.Until {
		return nil
	}
	if len(p.flows) >= maxFlows {
		if err := p.forgetFlows(); err != nil {
			return err
		}
	}
	v := programFlow{Until: uint64(w.Until + p.offset), Generation: w.Generation, Ifindex: uint32(w.Index),
		Limit: uint32(w.Limit), GsoLimit: uint32(w.GSOLimit), Out: uint8(w.Out), Priority: w.Priority}
	err := p.maps.maps.Flows.Update(p.key(f), &v, ebpf.UpdateAny)
	if errors.Is(err, unix.E2BIG) { // the ports together have too many
		return p.forgetFlows()
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

// forgetFlows takes all flows of the port out of the map.
func (p *Port) forgetFlows() error {
	for f := range p.flows {
		if err := p.maps.maps.Flows.Delete(p.key(&f)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("assist: forget a flow: %w", err)
		}
	}
	clear(p.flows)
	return nil
}

// A Sighting says when a frame of a station took the fast path last, by the switch's clock and to the second.
type Sighting struct {
	Port int // that it came by
	Src  [6]byte
	TCI  uint16 // of its tag; Untagged
	At   int64
}

// sightingsAtOnce is how many flows one system call reads.
const sightingsAtOnce = 256

// Sightings appends the flows whose last frame came after since, by the switch's clock; offset is Port.Offset of any
// port. A flow that is entered meanwhile may be missing.
func (m *Maps) Sightings(dst []Sighting, since, offset int64) ([]Sighting, error) {
	var cursor ebpf.MapBatchCursor
	keys, values := make([]programFlowKey, sightingsAtOnce), make([]programFlow, sightingsAtOnce)
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
