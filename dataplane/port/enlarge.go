package port

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Larger are larger data rings for a port that receives. They join the fanout group of its rings, behind them. Then the
// port's worker reads them too (Join), the program chooses among them instead of those of before (Steer), and those of
// before leave once they are empty (Leave). No frame is lost or overtaken, and no peer has to be held: all rings of a
// class hand their frames over in the order in which they arrived.
type Larger struct {
	of     *AFPacket
	rings  []*ring
	joined bool
}

// Larger opens larger data rings for an interface where the port is, with the sizes of c. The port goes on meanwhile.
func (p *AFPacket) Larger(c Config) (*Larger, error) {
	l := &Larger{of: p}
	if err := InNetns(c.Netns, func() error { return l.open(c) }); err != nil {
		return nil, fmt.Errorf("port %s: %w", c.Interface, errors.Join(addRemedy(err), l.Close()))
	}
	return l, nil
}

func (l *Larger) open(c Config) error {
	index, err := interfaceIndex(c.Interface)
	if err != nil {
		return err
	}
	configs := c.dataRings()
	if l.rings, err = makeRings(configs); err != nil {
		return err
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

// Join makes Receive look at the larger rings too. Nobody may use the port meanwhile. It fails where rings of before,
// which still hold frames, have not left.
func (l *Larger) Join() error {
	for class := range l.of.classes {
		if len(l.of.classes[class].rings)+len(l.rings)/int(NumClasses) > maxRings {
			return errors.New("the receive rings of before still hold frames")
		}
	}
	l.of.rings = append(l.of.rings, l.rings...)
	l.of.share(l.rings)
	l.joined = true
	return nil
}

// Steer makes all frames come to the larger rings, once they have joined. When it returns, none comes to those of
// before any more. The kernel takes its time; the port goes on meanwhile.
func (l *Larger) Steer() error {
	return l.of.steer(l.of.program, len(l.of.rings)-len(l.rings))
}

// Leave makes Receive look no more at the rings of before, and returns false while they hold frames. Nobody may use the
// port meanwhile. Their sockets and their memory stay: the kernel would number the rings anew. It takes ring 0 where a
// program cannot finish, so that one stays in use.
func (l *Larger) Leave() bool {
	left := true
	for class, keep := range [NumClasses]int{Other: 1, Lossless: 0} {
		gone, ok := l.of.classes[class].retire(keep)
		left = left && ok
		for _, r := range gone {
			l.of.losses[class].Add(uint64(r.drops()))
		}
	}
	return left
}

// Close closes rings that have not joined.
func (l *Larger) Close() error {
	if l.joined {
		return nil
	}
	var errs []error
	for _, r := range l.rings {
		errs = append(errs, r.close(), unix.Close(r.fd))
	}
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
	}, bpf.RawInstruction{Op: ifGreater, K: uint32(controlRing), Jf: 1},
		bpf.RawInstruction{Op: unix.BPF_ALU | unix.BPF_SUB | unix.BPF_K, K: 1},
		bpf.RawInstruction{Op: unix.BPF_ALU | unix.BPF_ADD | unix.BPF_K, K: uint32(first)},
		bpf.RawInstruction{Op: returnA})
}

// queued returns a program that chooses the ring of long lossless frames for all lossless ones.
func queued(program []bpf.RawInstruction) []bpf.RawInstruction {
	return rewritten(program, func(ring uint32) uint32 {
		if ring == uint32(Lossless) || ring == uint32(losslessSmall) {
			ring = uint32(losslessLong)
		}
		return ring
	}, bpf.RawInstruction{Op: ifEqual, K: uint32(Lossless), Jt: 2},
		bpf.RawInstruction{Op: ifEqual, K: uint32(losslessSmall), Jt: 1},
		bpf.RawInstruction{Op: returnA},
		bpf.RawInstruction{Op: returnK, K: uint32(losslessLong)})
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
