package port

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// A PacketSockets is one look at the packet sockets that see what interfaces send. Ports of a namespace share what it found.
type PacketSockets struct {
	found map[NetnsID][]tap
	table []byte // as the kernel lists them
}

// A tap is a packet socket for all protocols, on an interface or, with index 0, on all.
type tap struct {
	index int
	inode uint64
}

// taps returns those of the namespace of r.
func (l *PacketSockets) taps(r *linkWatch) []tap {
	if all, ok := l.found[r.netns]; ok {
		return all
	}
	if l.found == nil {
		l.found = map[NetnsID][]tap{}
	}
	l.read(r.sockets)
	var all []tap
	for line := range bytes.Lines(l.table) {
		if t, ok := parseTap(line); ok {
			all = append(all, t)
		}
	}
	l.found[r.netns] = all
	return all
}

// parseTap reads a line of the kernel's list:
//
//	sk RefCnt Type Proto Iface R Rmem User Inode
func parseTap(line []byte) (t tap, ok bool) {
	f := bytes.Fields(line)
	if len(f) < 9 || string(f[3]) != "0003" { // ETH_P_ALL
		return t, false
	}
	index, err := strconv.Atoi(string(f[4]))
	if err != nil {
		return t, false
	}
	inode, err := strconv.ParseUint(string(f[8]), 10, 64)
	return tap{index: index, inode: inode}, err == nil
}

// read reads the list. Where it can not be read to its end, what it says so far holds, and something that nobody owns.
func (l *PacketSockets) read(fd int) {
	l.table = l.table[:0]
	for {
		if len(l.table) == cap(l.table) {
			l.table = append(l.table, make([]byte, 4096)...)[:len(l.table)]
		}
		n, err := unix.Pread(fd, l.table[len(l.table):cap(l.table)], int64(len(l.table)))
		if err != nil {
			l.table = append(l.table, "\n- - - 0003 0 - - - 0\n"...)
			return
		}
		if n == 0 {
			return
		}
		l.table = l.table[:len(l.table)+n]
	}
}
