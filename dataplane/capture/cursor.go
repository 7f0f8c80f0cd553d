package capture

// A Cursor is a reader's place in the ring. It is for one goroutine.
type Cursor struct {
	tap      *Tap
	recorder *Recorder
	want     Want
	number   uint64 // of the chunk
	at       int    // octet in it
	seen     [MaxPorts]uint32
	missing  [MaxPorts]uint64
	stop     *place // where reading ends; nil: nowhere
}

// A place is where a ring ended at some time.
type place struct {
	recorder *Recorder
	number   uint64           // of the chunk
	at       int              // octet in it
	counts   [MaxPorts]uint32 // frames of each port until there
}

// Close ends reading.
func (c *Cursor) Close() { c.tap.detach(c) }

// Rewind goes back to the oldest record of the ring that is written now. There is no Stop any more.
func (c *Cursor) Rewind() {
	if r := c.tap.Recorder(); r != nil {
		c.recorder = r
	}
	c.at, c.stop = 0, nil
	c.number, c.seen = c.recorder.start()
}

// Stop makes the ring's end of now the end of reading.
func (c *Cursor) Stop() {
	c.stop = &place{recorder: c.tap.Recorder()}
	c.stop.number, c.stop.at, c.stop.counts = c.stop.recorder.place()
}

// Abandon ends reading: what was not read until the stop, or until now where there is none, is missing.
func (c *Cursor) Abandon() {
	if c.stop == nil {
		c.Stop()
	}
	if c.recorder != c.stop.recorder {
		_, _, counts := c.recorder.place()
		c.pass(&counts)
		c.follow()
	}
	c.pass(&c.stop.counts)
	c.number, c.at = c.stop.number, c.stop.at
}

// Missing returns and clears how many frames of a port were overwritten before this reader came to them.
func (c *Cursor) Missing(port int) uint64 {
	n := c.missing[port]
	c.missing[port] = 0
	return n
}

// Read calls f for the records that follow, those of ports that this reader wants, until f returns false: then that record
// is read again the next time. What f gets is gone when it returns. Read returns whether there may be more.
func (c *Cursor) Read(f func(*Record) bool) bool {
	more, end := c.readChunk(f)
	if !more && end {
		c.follow()
	}
	return more
}

// follow goes on with the ring that replaced this one, if there is one.
func (c *Cursor) follow() {
	r := c.tap.Recorder()
	if c.stop != nil {
		r = c.stop.recorder
	}
	if r != nil && r != c.recorder {
		c.recorder, c.number, c.at, c.seen = r, 0, 0, [MaxPorts]uint32{}
	}
}

// readChunk reads from one chunk. end says that nothing follows now.
func (c *Cursor) readChunk(f func(*Record) bool) (more, end bool) {
	k := c.recorder.open(c.number)
	if k == nil {
		return false, true
	}
	defer k.reading.RUnlock()
	stop := c.stop
	if stop != nil && stop.recorder != c.recorder {
		stop = nil // it is in the ring that replaced this one
	}
	if stop != nil && k.number > stop.number { // what was left is overwritten
		c.pass(&stop.counts)
		return false, true
	}
	if k.number != c.number { // those between were overwritten
		c.pass(&k.first)
		c.number, c.at = k.number, 0
	}
	full := k.full.Load() // before n, which does not change afterwards
	n := int(k.n.Load())
	if stop != nil && k.number == stop.number {
		full, n = false, stop.at
	}
	var r Record
	for c.at < n {
		size := r.get(k.data[c.at:n])
		r.Interface = k.is[r.Port]
		if c.want.Ports.Has(r.Port) && !f(&r) {
			return true, false
		}
		c.seen[r.Port]++
		c.at += size
	}
	if full {
		c.number, c.at = c.number+1, 0
	}
	return full, !full
}

// pass counts as missing what was not read before there were so many frames of each port.
func (c *Cursor) pass(counts *[MaxPorts]uint32) {
	for p := range c.seen {
		n := uint64(counts[p] - c.seen[p])
		c.missing[p] += n
		if c.want.Ports.Has(p) {
			c.tap.missing.Add(n)
		}
	}
	c.seen = *counts
}
