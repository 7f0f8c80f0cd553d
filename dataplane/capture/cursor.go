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
	stop     *place // where reading ends; nil: never
}

// A place is a position in a ring: its end at some time.
type place struct {
	recorder *Recorder
	number   uint64           // of the chunk
	at       int              // octet in it
	counts   [MaxPorts]uint32 // frames of each port until there
}

// Close ends reading.
func (c *Cursor) Close() { c.tap.detach(c) }

// AddPorts makes the reader want these ports too.
func (c *Cursor) AddPorts(p Ports) { c.tap.addPorts(c, p) }

// Rewind goes back to the oldest record of the current ring and cancels Stop. It returns the time of that record if
// older ones were overwritten, else 0.
func (c *Cursor) Rewind() (oldest int64) {
	if r := c.tap.Recorder(); r != nil {
		c.recorder = r
	}
	c.at, c.stop = 0, nil
	c.number, oldest, c.seen = c.recorder.start()
	return oldest
}

// Stop makes the current end of the ring the end of reading.
func (c *Cursor) Stop() {
	c.stop = &place{recorder: c.tap.Recorder()}
	c.stop.number, c.stop.at, c.stop.counts = c.stop.recorder.place()
}

// Abandon ends reading. Records up to the stop, or up to now without a stop, that were not read count as missing.
func (c *Cursor) Abandon() {
	if c.stop == nil {
		c.Stop()
	}
	if c.recorder != c.stop.recorder {
		_, _, counts := c.recorder.place()
		c.countMissing(&counts)
		c.follow()
	}
	c.countMissing(&c.stop.counts)
	c.number, c.at = c.stop.number, c.stop.at
}

// Missing returns and clears how many frames of a port were overwritten before this reader came to them.
func (c *Cursor) Missing(port int) uint64 {
	n := c.missing[port]
	c.missing[port] = 0
	return n
}

// Read calls f for the next records of the ports that this reader wants, until f returns false. That record comes again
// in the next call. f must not keep the record. Read returns whether there may be more.
func (c *Cursor) Read(f func(*Record) bool) bool {
	more, end := c.readChunk(f)
	if !more && end {
		return c.follow()
	}
	return more
}

// follow continues with the ring that replaced this one, and returns whether there is one.
func (c *Cursor) follow() bool {
	r := c.tap.Recorder()
	if c.stop != nil {
		r = c.stop.recorder
	}
	if r == nil || r == c.recorder {
		return false
	}
	c.recorder, c.number, c.at, c.seen = r, 0, 0, [MaxPorts]uint32{}
	return true
}

// readChunk reads from one chunk. end means that nothing follows now.
func (c *Cursor) readChunk(f func(*Record) bool) (more, end bool) {
	k := c.recorder.open(c.number)
	if k == nil {
		return false, true
	}
	defer k.reading.RUnlock()
	stop := c.stop
	if stop != nil && stop.recorder != c.recorder {
		stop = nil // the stop lies in the ring that replaced this one
	}
	if stop != nil && k.number > stop.number { // what was left is overwritten
		c.countMissing(&stop.counts)
		return false, true
	}
	if k.number != c.number { // the chunks between were overwritten
		c.countMissing(&k.first)
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

// countMissing counts as missing the frames up to counts that were not read.
func (c *Cursor) countMissing(counts *[MaxPorts]uint32) {
	for p := range c.seen {
		n := uint64(counts[p] - c.seen[p])
		c.missing[p] += n
		if c.want.Ports.Has(p) {
			c.tap.missing.Add(n)
		}
	}
	c.seen = *counts
}
