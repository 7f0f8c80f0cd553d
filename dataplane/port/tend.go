package port

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// openExpress opens the port's second way out, which it can do without.
func (p *AFPacket) openExpress(c Config) {
	if p.noExpress = whyAsked; !c.Express {
		return
	}
	x, err := newExpress(c.Interface)
	if err == nil {
		if p.sockets, err = unix.Open("/proc/thread-self/net/packet", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			err = errors.Join(fmt.Errorf("list packet sockets: %w", err), x.close())
		}
	}
	if err != nil {
		p.noExpress = err.Error()
		return
	}
	p.express = x
	p.Tend()
}

// Tend looks after the way of a port's frames, about once a second: it takes the interface's queue as soon as a socket of
// before has let go of it, and goes back to the packet socket, which captures see, while another program captures on the
// interface. It may wait for the kernel's locks.
func (p *AFPacket) Tend() {
	if p.express == nil {
		return
	}
	why := p.express.bind()
	if why == "" && p.captured() {
		why = whyCaptured
	}
	p.express.why.Store(&why)
	p.express.on.Store(why == "")
}

// Way returns how the port's frames leave.
func (p *AFPacket) Way() Way {
	if p.express == nil {
		return Way{Why: p.noExpress}
	}
	why := *p.express.why.Load()
	return Way{Express: why == "", Why: why}
}

// bind takes the interface's queue, which one socket alone can have, and returns why it did not.
func (x *express) bind() string {
	if x.bound {
		return ""
	}
	err := unix.Bind(x.fd, &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(x.index)})
	switch {
	case errors.Is(err, unix.EBUSY):
		return whyBusy
	case err != nil:
		return "bind AF_XDP socket: " + err.Error()
	}
	x.bound = true
	return ""
}

// captured tells whether a packet socket of somebody else gets what the interface sends: one for all protocols, bound to it or
// to none.
func (p *AFPacket) captured() bool {
	for line := range bytes.Lines(p.readSockets()) {
		f := bytes.Fields(line)
		if len(f) < 9 || string(f[3]) != "0003" { // ETH_P_ALL
			continue
		}
		index, err := strconv.Atoi(string(f[4]))
		if err == nil && (index == 0 || index == p.express.index) && !p.owns(string(f[8])) {
			return true
		}
	}
	return false
}

// readSockets returns the table of packet sockets of the port's namespace:
//
//	sk RefCnt Type Proto Iface R Rmem User Inode
func (p *AFPacket) readSockets() []byte {
	p.table = p.table[:0]
	for {
		if len(p.table) == cap(p.table) {
			p.table = append(p.table, make([]byte, 4096)...)[:len(p.table)]
		}
		n, err := unix.Pread(p.sockets, p.table[len(p.table):cap(p.table)], int64(len(p.table)))
		if n <= 0 || err != nil {
			return p.table
		}
		p.table = p.table[:len(p.table)+n]
	}
}

// owns tells whether a data ring of the port has a socket of that inode.
func (p *AFPacket) owns(inode string) bool {
	for _, r := range p.rings {
		var st unix.Stat_t
		if unix.Fstat(r.fd, &st) == nil && strconv.FormatUint(st.Ino, 10) == inode {
			return true
		}
	}
	return false
}
