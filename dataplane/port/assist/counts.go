package assist

import "sync/atomic"

// A Count is what took the fast path at a port with one priority: frames and octets without FCS, with their tags.
type Count struct{ RxFrames, RxOctets, TxFrames, TxOctets uint64 }

// Counts are those of the priorities of a port.
type Counts [Priorities]Count

// Counts returns what took the fast path at port number i so far. The counts of a port that is gone go on with the next
// one of its number.
func (m *Maps) Counts(i int) (sum Counts) {
	for at := i; at < len(m.counts); at += MaxPorts { // once for each CPU
		for q := range sum {
			c := &m.counts[at].Priority[q]
			sum[q].RxFrames += atomic.LoadUint64(&c.RxFrames)
			sum[q].RxOctets += atomic.LoadUint64(&c.RxOctets)
			sum[q].TxFrames += atomic.LoadUint64(&c.TxFrames)
			sum[q].TxOctets += atomic.LoadUint64(&c.TxOctets)
		}
	}
	return sum
}
