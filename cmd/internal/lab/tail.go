package lab

import "sync"

const tailBytes = 64 << 10

// A outputTail is a writer that keeps the last 64 KiB.
type outputTail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (t *outputTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*tailBytes { // now and then, not at every write
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailBytes:]...)
	}
	return len(b), nil
}

// String returns what is kept.
func (t *outputTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-tailBytes):])
}
