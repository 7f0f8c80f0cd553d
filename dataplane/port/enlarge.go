package port

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Larger are larger data rings for a port that receives. They join the fanout group of its rings, behind them (open).
// Then the port's worker reads them too (Join), and the program chooses among them instead of those of before (Steer).
// Those of before stay members: where one leaves, the kernel gives its number to the last one, and not at the moment at
// which it takes another program; where a link comes up, it numbers the members in the order of their sockets again. So
// they are read, too: while it does, frames come to any of them. No frame is lost or overtaken, and no peer has to be
// held.
type Larger struct {
	of    *AFPacket
	c     Config
	rings []*ring

	before struct { // what Join has changed
		newest [NumClasses]int
		holds  [NumClasses]Slots
	}
}

// Larger opens larger data rings for an interface where the port is, with the sizes of c. The port goes on meanwhile.
func (p *AFPacket) Larger(c Config) (*Larger, error) {
	l := &Larger{of: p, c: c}
	if err := InNetns(c.Netns, l.open); err != nil {
		return nil, fmt.Errorf("port %s: %w", c.Interface, errors.Join(addRemedy(err), l.Close()))
	}
	return l, nil
}

func (l *Larger) open() error {
	configs := l.c.dataRings()
	if len(l.of.classes[Other].rings)+len(configs)/int(NumClasses) > maxRings {
		return errors.New("the receive rings were enlarged too often: start the switch again")
	}
	index, err := interfaceIndex(l.c.Interface)
	if err != nil {
		return err
	}
	if l.rings, err = makeRings(configs); err != nil {
		return err
	}
	if !sameNamespace(l.rings[0].fd, l.of.rings[0].fd) { // where the group would be another one
		return ErrNoInterface
	}
	for i, r := range l.rings {
		if _, err := r.join(index, l.of.group, configs[i].queue); err != nil {
			return err
		}
		if err := r.open(l.of.filter); err != nil {
			return err
		}
	}
	return nil
}

// sameNamespace reports whether two sockets are in one network namespace, as far as the kernel tells (Linux 5.14).
func sameNamespace(a, b int) bool {
	x, err := unix.GetsockoptUint64(a, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	y, failed := unix.GetsockoptUint64(b, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return err != nil || failed != nil || x == y
}

// Octets is the memory of the larger rings of a class.
func (l *Larger) Octets(class Class) (octets int) {
	for i := int(class); i < len(l.rings); i += int(NumClasses) {
		octets += len(l.rings[i].mem)
	}
	return octets
}

// Join makes Receive look at the larger rings too. Nobody may use the port meanwhile.
func (l *Larger) Join() {
	for class, c := range l.of.classes {
		l.before.newest[class], l.before.holds[class] = c.newest, c.holds
	}
	l.of.rings = append(l.of.rings, l.rings...)
	l.of.share(&l.c, l.rings)
}

// Steer makes all frames come to the larger rings, once they have joined. When it returns, none comes to those of
// before any more. The kernel takes its time; the port goes on meanwhile.
func (l *Larger) Steer() error {
	return l.of.steer(l.of.program, len(l.of.rings)-len(l.rings), l.c.Queued)
}

// Leave undoes Join where Steer has failed, so that no frame has come to the larger rings. Nobody may use the port
// meanwhile.
func (l *Larger) Leave() {
	l.of.rings = l.of.rings[:len(l.of.rings)-len(l.rings)]
	for class := range l.of.classes {
		c := &l.of.classes[class]
		c.rings = c.rings[:c.newest]
		c.newest, c.holds = l.before.newest[class], l.before.holds[class]
	}
}

// Close closes rings that have not joined.
func (l *Larger) Close() error {
	errs := inParallel(len(l.rings), func(i int) error {
		return errors.Join(l.rings[i].close(), unix.Close(l.rings[i].fd))
	})
	return errors.Join(errs...)
}

// numbered returns a program that chooses among the data rings from number first on as program does among the port's
// first ones. The control ring stands among those, and not among later ones.
func numbered(program []bpf.RawInstruction, first int) []bpf.RawInstruction {
	return rewritten(program, func(ring uint32) uint32 {
		switch {
		case ring < uint32(controlRing):
			ring += uint32(first)
		case ring > uint32(controlRing):
			ring += uint32(first) - 1
		}
		return ring
	}, bpf.RawInstruction{Op: ifEqual, K: uint32(controlRing), Jt: 3},
		bpf.RawInstruction{Op: ifGreater, K: uint32(controlRing), Jf: 1},
		bpf.RawInstruction{Op: unix.BPF_ALU | unix.BPF_SUB | unix.BPF_K, K: 1},
		bpf.RawInstruction{Op: unix.BPF_ALU | unix.BPF_ADD | unix.BPF_K, K: uint32(first)},
		bpf.RawInstruction{Op: returnA})
}

// queued returns a program that chooses, for all frames of a class, the one ring that the class has beside the control
// ring: its number is that of the class.
func queued(program []bpf.RawInstruction) []bpf.RawInstruction {
	return rewritten(program, func(ring uint32) uint32 {
		if ring >= uint32(longRings) {
			ring = (ring - uint32(longRings)) % uint32(NumClasses)
		}
		return ring
	}, bpf.RawInstruction{Op: ifGreater, K: uint32(controlRing), Jf: 2},
		bpf.RawInstruction{Op: unix.BPF_ALU | unix.BPF_SUB | unix.BPF_K, K: uint32(longRings)},
		bpf.RawInstruction{Op: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(NumClasses)},
		bpf.RawInstruction{Op: returnA})
}

// Instructions of classic BPF.
const (
	returnA   = unix.BPF_RET | unix.BPF_A
	returnK   = unix.BPF_RET | unix.BPF_K
	jump      = unix.BPF_JMP | unix.BPF_JA
	ifGreater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	ifEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
)

// rewritten returns a program of whose results constants are changed, and of which end takes the accumulator, where it
// is the result, instead.
func rewritten(program []bpf.RawInstruction, constant func(uint32) uint32,
	end ...bpf.RawInstruction) []bpf.RawInstruction {
	var all []bpf.RawInstruction
	for i, in := range program {
		switch in.Op {
		case returnA:
			in = bpf.RawInstruction{Op: jump, K: uint32(len(program) - i - 1)}
		case returnK:
			in.K = constant(in.K)
		}
		all = append(all, in)
	}
	return append(all, end...)
}
