package assist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// A Port is the pair of programs of one port. Its methods neither block nor allocate, but for Attach, Configure and
// Close; where they say nothing else, any goroutine may call them.
type Port struct {
	maps   *Maps
	number int
	index  int // of the interface
	shared *programPort

	steer   *ebpf.Program
	ingress *ebpf.Program
	id      ebpf.ProgramID // of ingress
	link    link.Link
	pin     *pin  // what keeps the link beyond this process; nil: nothing
	adopted bool  // a killed switch has left the link
	offset  int64 // CLOCK_MONOTONIC less the switch's clock

	taken     atomic.Uint64 // value of xoffs at the last TakeXoffs
	flows     map[Flow]Way  // that are in the map
	refused   uint32        // the generation for which the map was full
	overflows atomic.Bool
}

// Attach loads the programs of port number i and attaches one to the interface with this index in the namespace of the
// calling thread. Sockets that get the other one (Filter) may then take frames off the fast path. now is the switch's
// time, and the switch's clock runs as CLOCK_MONOTONIC does.
//
// A program that a killed switch of the same pins has left for the port of this name stays, and holds the peer, until
// TakeOver. Attach fails with ErrOccupied where another program stands at the interface already.
func (m *Maps) Attach(i, index int, pins Pins, name string, now int64) (*Port, error) {
	p := &Port{maps: m, number: i, index: index, shared: &m.ports[i], offset: clockNs() - now, flows: map[Flow]Way{}}
	if err := p.attach(pins, name); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Port) attach(pins Pins, name string) (err error) {
	if p.pin, err = pins.take(name); err == nil {
		p.link, err = p.pin.adopt(p.index)
	}
	if err != nil {
		return fmt.Errorf("assist: what a killed switch has left: %w", err)
	}
	if p.adopted = p.link != nil; !p.adopted {
		if all, err := p.programs(); err == nil && len(all) > 0 {
			return ErrOccupied
		}
	}
	if err := p.load(); err != nil {
		return unavailable(err)
	}
	p.reset()
	if p.adopted {
		return nil
	}
	return p.hook()
}

// TakeOver replaces the program that a killed switch has left, where there is one. From then on nothing holds the peer
// but this switch. It is called once, right before the sockets receive.
func (p *Port) TakeOver() error {
	if !p.adopted {
		return nil
	}
	return p.link.Update(p.ingress)
}

func (p *Port) hook() (err error) {
	p.link, err = link.AttachTCX(link.TCXOptions{Interface: p.index, Program: p.ingress, Attach: ebpf.AttachTCXIngress})
	if err != nil {
		return unavailable(err)
	}
	return p.pin.keep(p.link)
}

// programs returns what stands at the interface's tcx ingress.
func (p *Port) programs() ([]link.AttachedProgram, error) {
	all, err := link.QueryPrograms(link.QueryOptions{Target: p.index, Attach: ebpf.AttachTCXIngress})
	if err != nil {
		return nil, err
	}
	return all.Programs, nil
}

// Beside reports whether a program of somebody else stands at the interface too, and attaches the port's again where
// somebody has taken it away. It wants the namespace of the interface. One call at a time.
func (p *Port) Beside() (others bool, err error) {
	all, err := p.programs()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(all, func(a link.AttachedProgram) bool { return a.ID == p.id }) {
		return len(all) > 1, nil
	}
	return len(all) > 0, errors.Join(p.pin.forget(), detach(p.link), p.hook())
}

// TakeAdopted reports once whether the peer may be held by the program that a killed switch has left.
func (p *Port) TakeAdopted() bool {
	adopted := p.adopted
	p.adopted = false
	return adopted
}

// load loads the programs, for the number of the port.
func (p *Port) load() error {
	spec, _, err := newSpec(p.maps.flows)
	if err != nil {
		return err
	}
	if err := spec.Variables[programVarWeak].Set(uint8(weakOrder)); err != nil {
		return err
	}
	recents := spec.Maps[programMapRecents]
	for cpu := range recents.MaxEntries {
		key := programFlowKey{In: uint8(p.number)}
		first := programRecent{Key: key, Next: key, Port: uint32(p.number)}
		recents.Contents = append(recents.Contents, ebpf.MapKV{Key: cpu, Value: first})
	}
	own := p.maps.maps
	var programs programPrograms
	err = spec.LoadAndAssign(&programs, &ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{
		programMapPorts: own.Ports, programMapCounts: own.Counts, programMapFlows: own.Flows,
		programMapDecisions: own.Decisions}})
	if p.steer, p.ingress = programs.Steer, programs.Ingress; err != nil {
		return err
	}
	info, err := p.ingress.Info()
	if err == nil {
		p.id, _ = info.ID() // each kernel that has tcx tells it
	}
	return err
}

// weakOrder is 1 where the processor may load in another order than the program says.
var weakOrder = boolByte(runtime.GOARCH != "amd64" && runtime.GOARCH != "386")

// reset clears what a former port of this number has left. All gates are closed, and no frame takes the fast path
// before Emptied.
func (p *Port) reset() {
	s := p.shared
	*s = programPort{Begun: s.Begun, Done: s.Done, Xoffs: s.Xoffs, Arrived: s.Arrived, Seen: s.Arrived + suspended,
		Missed: s.Missed}
	p.taken.Store(s.Xoffs)
}

// Close detaches the programs. No socket may use Filter any more.
func (p *Port) Close() error {
	return errors.Join(p.pin.remove(), detach(p.link), p.forgetFlows(nil), p.ingress.Close(), p.steer.Close())
}

// Offset is CLOCK_MONOTONIC less the switch's clock.
func (p *Port) Offset() int64 { return p.offset }

// Filter returns the descriptor of the program for the filters of the port's data sockets (SO_ATTACH_BPF).
func (p *Port) Filter() int { return p.steer.FD() }

// Settings are what the programs need to know of a port.
type Settings struct {
	Freeze time.Duration // an unread lossless frame makes the program hold the peer when it is older; 0: never
	Hold   time.Duration // up to this age
	Xoff   []byte        // the frame that holds all that is lossless, at most 128 octets; empty: never
	Small  int           // octets without tag; frames of up to so many are in another ring
	Most   [2]int        // as many unread frames do so too: longer ones, and those of up to Small octets; 0: none

	Pause    bool    // flow control by PAUSE, else by PFC
	Lossless uint8   // priorities that are lossless: bit n is priority n
	Obeyed   uint8   // priorities whose PFC is obeyed
	Ends     [7]byte // how frames begin, behind addresses and tag, that end at the switch

	TrustPCP, TrustDSCP bool
	LosslessPCP         uint8  // bit n: frames with PCP n are lossless, where it is trusted
	LosslessDSCP        uint64 // likewise for the DSCP
	LosslessDefault     bool   // likewise for frames without the trusted field
}

// What a port trusts, as in enum trust.
const (
	trustPCP = iota
	trustDSCP
	trustPort
)

// Configure puts settings in force. One call at a time. A frame that arrives meanwhile may meet old and new ones.
func (p *Port) Configure(c *Settings) {
	s := p.shared
	atomic.StoreUint64(&s.Freeze, 0)
	s.Pause, s.Lossless, s.Obeyed, s.Trust = boolByte(c.Pause), c.Lossless, c.Obeyed, trustPort
	switch {
	case c.TrustPCP:
		s.Trust = trustPCP
	case c.TrustDSCP:
		s.Trust = trustDSCP
	}
	s.LosslessPcp, s.LosslessDscp, s.LosslessDefault = c.LosslessPCP, c.LosslessDSCP, boolByte(c.LosslessDefault)
	ends := append(c.Ends[:], 0)
	s.Ends = [2]uint32{binary.NativeEndian.Uint32(ends), binary.NativeEndian.Uint32(ends[4:])}
	s.Xoff = [len(s.Xoff)]byte{}
	copy(s.Xoff[:], c.Xoff)
	s.Hold, s.Small, s.Most = uint64(c.Hold), uint32(c.Small), [2]uint32{uint32(c.Most[0]), uint32(c.Most[1])}
	if len(c.Xoff) > 0 {
		atomic.StoreUint64(&s.Freeze, uint64(c.Freeze))
	}
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Look says that the switch looks for lossless frames of the port. It comes before the look: a frame that arrives later
// is seen then, or the program notes when it came.
func (p *Port) Look() {
	if atomic.LoadUint64(&p.shared.Since) != 0 {
		atomic.StoreUint64(&p.shared.Since, 0)
	}
}

// Held reports whether the program has held the peer since the last TakeXoffs.
func (p *Port) Held() bool { return atomic.LoadUint64(&p.shared.Xoffs) != p.taken.Load() }

// Settled reports, after a Look, that the program does not hold the peer for a frame before it without Held telling so.
func (p *Port) Settled() bool {
	done := atomic.LoadUint64(&p.shared.Done)
	return atomic.LoadUint64(&p.shared.Begun) == done
}

// TakeXoffs returns how many XOFF the program has sent since the last call, and when the last one, by the switch's
// clock.
func (p *Port) TakeXoffs() (n uint64, at int64) {
	sent := atomic.LoadUint64(&p.shared.Xoffs)
	return sent - p.taken.Swap(sent), int64(atomic.LoadUint64(&p.shared.LastXoff)) - p.offset
}

// suspended is what seen is away from arrived where the port's frames must all come to the switch.
const suspended = 1 << 63

// Arrived counts the frames that have come to the rings. A frame is in its ring before it counts.
func (p *Port) Arrived() uint64 { return atomic.LoadUint64(&p.shared.Arrived) }

// Missed counts the frames that the program at the interface did not see: somebody has detached it, or a program of
// somebody else took them, which stands before it. Beside finds out.
func (p *Port) Missed() uint64 { return atomic.LoadUint64(&p.shared.Missed) }

// Emptied says that no frame among the first arrived ones is in the rings any more, and that those that wait elsewhere
// keep the gates of their queues closed. From then on frames of the port may take the fast path.
func (p *Port) Emptied(arrived uint64) {
	if atomic.LoadUint64(&p.shared.Seen) != arrived {
		atomic.StoreUint64(&p.shared.Seen, arrived)
	}
}

// Suspend makes all frames of the port come to the rings, until Emptied. A frame that has been decided about still
// goes.
func (p *Port) Suspend() { atomic.StoreUint64(&p.shared.Seen, p.Arrived()+suspended) }

// Lost counts the frames, lossy and lossless ones, that were to take the fast path and that a program of somebody else
// took, which stands before the port's. No frame takes the fast path after the first such one, until Regain.
func (p *Port) Lost() (lossy, lossless uint64) {
	return atomic.LoadUint64(&p.shared.Lost[0]), atomic.LoadUint64(&p.shared.Lost[1])
}

// Regain forgets what was lost, so that frames take the fast path again.
func (p *Port) Regain() {
	for i := range p.shared.Lost {
		atomic.StoreUint64(&p.shared.Lost[i], 0)
	}
}

// Gates are the words of the port's egress queues: 1 where a frame may pass the switch by on its way out.
func (p *Port) Gates() *[Priorities]uint32 { return &p.shared.Gates }

// Pauses counts the MAC Control frames that have closed a gate. The switch reads it before it looks for such frames. It
// opens a gate where there are none, and closes it again where the number is another one then.
func (p *Port) Pauses() uint64 { return atomic.LoadUint64(&p.shared.Pauses) }
