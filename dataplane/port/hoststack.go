package port

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// DisableHostStack keeps what an interface receives from the host's own stack, which would take it as well where another interface of the
// host has the address that it is for. The port's sockets, and those bound to LLDP, get it before. A BPF program drops the rest,
// and is gone with the process; where that is not allowed (a user namespace, Linux before 6.6) only ARP is switched off: then the
// stack still takes broadcast. undo ends it.
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
		return nil, fmt.Errorf("keep the frames of %s from the host's own stack: %w", l.Name, explain(err))
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

// dropAfterSockets attaches a program where frames have passed the sockets that get every protocol, and before those of one.
func dropAfterSockets(index int) (link.Link, error) {
	big := func(t uint16) int32 { return int32(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, t))) }
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "pfcswitch_host", Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, skbProtocol, asm.Word),
		asm.Mov.Imm(asm.R0, tcxNext),
		asm.JEq.Imm(asm.R2, big(frame.TypeLLDP), "end"),
		asm.Mov.Imm(asm.R0, tcxDrop),
		asm.Return().WithSymbol("end"),
	}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = program.Close() }() // the attachment keeps it
	return link.AttachTCX(link.TCXOptions{Interface: index, Program: program, Attach: ebpf.AttachTCXIngress})
}

// switchARP switches ARP on or off and tells whether it was otherwise.
func switchARP(index int, on bool) (changed bool, err error) {
	l, err := netlink.LinkByIndex(index)
	if err != nil {
		return false, missing("", err)
	}
	if was := l.Attrs().RawFlags&unix.IFF_NOARP == 0; was == on {
		return false, nil
	}
	if on {
		return true, netlink.LinkSetARPOn(l)
	}
	return true, netlink.LinkSetARPOff(l)
}
