package runner

import (
	"testing"

	"golang.org/x/sys/unix"

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
		if dropped(7, 1514, at) {
			t.Fatalf("given up after %d ms", at/ms)
		}
	}
	if dropped(7, 1514, 10*stuckLimit) || dropped(8, 1514, 10*stuckLimit+ms) {
		t.Fatal("given up at the first attempt after a pause, or of another frame")
	}
	from := 10*stuckLimit + int64(ms)
	for at := from; at < from+stuckLimit; at += ms {
		dropped(8, 1514, at)
	}
	if !dropped(8, 1514, from+stuckLimit) || !dropped(9, 1514, from+stuckLimit+ms) || dropped(9, 1513,
		from+stuckLimit+2*ms) {
		t.Error("want the frame given up, one as long at once, and a shorter one not")
	}
	task.stuck.passed(1000)
	if !dropped(10, 1514, from+stuckLimit+3*ms) {
		t.Error("a short frame that passes says nothing of long ones")
	}
	task.stuck.passed(1514)
	if dropped(11, 1514, from+stuckLimit+4*ms) {
		t.Error("frames of that length pass again")
	}
	for _, err := range []error{port.ErrAgain, port.ErrDown, unix.EMSGSIZE} {
		if task.givenUp(sw, err, attempt{1, 1514, from}) {
			t.Errorf("%v: given up", err)
		}
	}
}
