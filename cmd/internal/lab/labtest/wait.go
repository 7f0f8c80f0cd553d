package labtest

import (
	"testing"
	"time"
)

// patience is how long a test waits for what has to happen. It is long: a slow machine is not a fault.
const eventuallyTimeout = time.Minute

// Must ends the test where there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until something holds, and ends the test where it does not within a minute.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(eventuallyTimeout); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", eventuallyTimeout, what)
		}
	}
}
