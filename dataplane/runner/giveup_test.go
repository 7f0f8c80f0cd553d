package runner

import (
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// A frame is hopeless after a second of attempts without a pause; for a while those like it are at once, until one
// passes.
func TestGivenUp(t *testing.T) {
	const ms = 1_000_000
	r, _ := measuringRig(t)
	sw := r.sw
	task := &portTask{}
	dropped := func(frame uint64, length int, at int64) bool {
		return task.givenUp(sw, port.ErrDropped, attempt{frame, length, at})
	}
	for at := int64(ms); at < stuckLimit; at += ms {
		assert.MustBeTrue(t, !dropped(7, 1514, at), "given up after %d ms", at/ms)
	}
	assert.MustBeTrue(t, !dropped(7, 1514, 10*stuckLimit) && !dropped(8, 1514, 10*stuckLimit+ms),
		"given up at the first attempt after a pause, or of another frame")
	from := 10*stuckLimit + int64(ms)
	for at := from; at < from+stuckLimit; at += ms {
		dropped(8, 1514, at)
	}
	assert.True(t, dropped(8, 1514, from+stuckLimit) && dropped(9, 1514, from+stuckLimit+ms) &&
		!dropped(9, 1513, from+stuckLimit+2*ms), "want the frame given up, one as long at once, and a shorter one not")
	task.stuck.passed(1000)
	assert.True(t, dropped(10, 1514, from+stuckLimit+3*ms), "a short frame that passes says nothing of long ones")
	task.stuck.passed(1514)
	assert.True(t, !dropped(11, 1514, from+stuckLimit+4*ms), "frames of that length pass again")
	for _, err := range []error{port.ErrAgain, port.ErrDown, unix.EMSGSIZE} {
		assert.True(t, !task.givenUp(sw, err, attempt{1, 1514, from}), "%v: given up", err)
	}
}
