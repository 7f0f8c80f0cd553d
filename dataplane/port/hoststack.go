package port

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// DisableHostStack keeps the frames that an interface receives from the host's own stack, which would also take them
// if another interface of the host has their destination address. The port's sockets and LLDP sockets get the frames
// before that. A BPF program drops the rest and goes with the process. Where BPF is not allowed (a user namespace,
// Linux before 6.6) only ARP is switched off, and the stack still takes broadcast. undo restores the stack.
func DisableHostStack(ns string, l Link) (undo func() error, err error) {
	var held link.Link
	var off bool
	err = InNetns(ns, func() error {
		if held, err = dropAfterSockets(l.Index); err == nil {
			return nil
		}
		off, err = switchARP(l.Index, false)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep the frames of %s from the host's own stack: %w", l.Name, addRemedy(err))
	}
	return func() error {
		if held != nil {
			return held.Close()
		}
		if !off {
			return nil
		}
		return InNetns(ns, func() error {
			_, err := switchARP(l.Index, true)
			if errors.Is(err, ErrNoInterface) {
				return nil
			}
			return err
		})
	}, nil
}

// skbProtocol is a field of struct __sk_buff, in network byte order.
const skbProtocol = 16

// Verdicts of a program at TCX.
const (
	tcxNext = -1
	tcxDrop = 2
)

// dropAfterSockets attaches a program behind the sockets for all protocols and before the sockets for one protocol.
func dropAfterSockets(index int) (link.Link, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "pfcswitch_host", Type: ebpf.SchedCLS,
		License: "Apache-2.0", Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, skbProtocol, asm.Word),
			asm.Mov.Imm(asm.R0, tcxNext),
			asm.JEq.Imm(asm.R2, int32(htons(frame.TypeLLDP)), "end"),
			asm.Mov.Imm(asm.R0, tcxDrop),
			asm.Return().WithSymbol("end"),
		}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = program.Close() }() // the attachment keeps the program
	return link.AttachTCX(link.TCXOptions{Interface: index, Program: program, Attach: ebpf.AttachTCXIngress})
}

// switchARP switches ARP on or off and tells whether that changed anything.
func switchARP(index int, on bool) (changed bool, err error) {
	l, err := netlink.LinkByIndex(index)
	if err != nil {
		return false, lookupError("", err)
	}
	if was := l.Attrs().RawFlags&unix.IFF_NOARP == 0; was == on {
		return false, nil
	}
	if on {
		return true, netlink.LinkSetARPOn(l)
	}
	return true, netlink.LinkSetARPOff(l)
}
