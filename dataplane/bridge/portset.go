package bridge

import (
	"iter"
	"math/bits"
)

// MaxPorts is the number of ports that a bridge can have: indexes run from 0 to MaxPorts-1.
const MaxPorts = 256

// A PortSet is a set of port indexes, bit i%64 of word i/64 for port i. The zero value is the empty set.
// Methods take indexes from 0 to MaxPorts-1.
type PortSet [MaxPorts / 64]uint64

// Has tells whether port i is in the set.
func (s *PortSet) Has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }

// Add puts port i into the set.
func (s *PortSet) Add(i int) { s[i>>6] |= 1 << (i & 63) }

// Remove takes port i out of the set.
func (s *PortSet) Remove(i int) { s[i>>6] &^= 1 << (i & 63) }

// set adds or removes port i.
func (s *PortSet) set(i int, in bool) {
	if in {
		s.Add(i)
	} else {
		s.Remove(i)
	}
}

// intersect keeps the ports that are in o too.
func (s *PortSet) intersect(o *PortSet) {
	for w := range s {
		s[w] &= o[w]
	}
}

// Empty tells whether no port is in the set.
func (s *PortSet) Empty() bool { return s[0]|s[1]|s[2]|s[3] == 0 }

// Len returns the number of ports in the set.
func (s *PortSet) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the ports in the set, lowest index first.
func (s *PortSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(i<<6 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
