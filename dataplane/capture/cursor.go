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
}

// Close ends reading.
func (c *Cursor) Close() { c.tap.detach(c) }

// Rewind goes back to the oldest record of the ring that is written now.
func (c *Cursor) Rewind() {
	if r := c.tap.Recorder(); r != nil {
		c.recorder = r
	}
	c.at = 0
	c.number, c.seen = c.recorder.start()
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
	if c.tap.Recorder() != c.recorder {
		c.Rewind()
	}
}

// readChunk reads from one chunk. end says that nothing follows now.
func (c *Cursor) readChunk(f func(*Record) bool) (more, end bool) {
	k := c.recorder.open(c.number)
	if k == nil {
		return false, true
	}
	defer k.reading.RUnlock()
	if k.number != c.number {
		c.skip(k)
	}
	full := k.full.Load() // before n, which does not change afterwards
	n := int(k.n.Load())
	var r Record
	for c.at < n {
		size := r.get(k.data[c.at:n])
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

// skip goes on with a chunk that does not follow: those between were overwritten.
func (c *Cursor) skip(k *chunk) {
	for p := range c.seen {
		n := uint64(k.first[p] - c.seen[p])
		c.missing[p] += n
		if c.want.Ports.Has(p) {
			c.tap.missing.Add(n)
		}
	}
	c.number, c.at, c.seen = k.number, 0, k.first
}
