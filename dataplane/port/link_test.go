package port

import (
	"errors"
	"pfcswitch/dataplane/assert"
	"testing"

	"github.com/vishvananda/netlink"
)

// A list that changed during the read is read again. Any other error, and endless changes, are returned.
func TestWholeLists(t *testing.T) {
	other := errors.New("no right")
	for _, tt := range []struct {
		name   string
		answer func(call int) error
		calls  int
		err    error
	}{
		{"quiet", func(int) error { return nil }, 1, nil},
		{"changed twice", func(call int) error {
			if call <= 2 {
				return netlink.ErrDumpInterrupted
			}
			return nil
		}, 3, nil},
		{"refused", func(int) error { return other }, 1, other},
		{"changes without end", func(int) error { return netlink.ErrDumpInterrupted }, 100, netlink.ErrDumpInterrupted},
	} {
		calls := 0
		got, err := retryDump(func() (int, error) { calls++; return calls, tt.answer(calls) })
		assert.True(t, calls == tt.calls && got == tt.calls && errors.Is(err, tt.err),
			"%s: %d after %d calls, %v, want %d and %v", tt.name, got, calls, err, tt.calls, tt.err)
	}
}
