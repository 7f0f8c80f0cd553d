// Package capture shows frames to people: the data path puts what it sees into a ring of bounded memory, readers make
// pcapng files of it.
//
//	Tap → Recorder (chunks; the newest overwrites the oldest) → Cursor → Stream (ports, filter, snap length) → pcapng
//
//	tap.go       Tap: what the data path asks whether anybody captures, and who does
//	recorder.go  Recorder: the ring that the data path writes, and which port had an index when
//	aside.go     records of who must not wait for the lock of the ring
//	record.go    Record: a frame as it lies in the ring
//	cursor.go    Cursor: a reader's place in the ring
//	stream.go    Stream: the records that a reader wants, as a pcapng file
//	pcapng.go    the blocks of such a file
//	filter.go    classic BPF programs that choose frames
//	blocks.go    copies a file through pipes in whole blocks, and counts frames
//
// The data path copies the first octets of a frame once, whatever the number of readers. The reader does everything
// else that chooses frames or takes time. A reader never makes the data path wait: a slow reader finds its place
// overwritten, and its file says how many frames are missing, by port. While nobody captures, a burst costs one load
// and one branch.
package capture
