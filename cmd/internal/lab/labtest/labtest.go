// Package labtest lets Go tests use labs: Main gets a test binary the rights, Require says why a test cannot
// run without them, New makes a lab that ends with the test.
package labtest

import (
	"context"
	"os"
	"testing"

	"pfcswitch/cmd/internal/lab"
)

// whyNot is the reason for which this process can build no labs; nil where it can.
var unavailable error

// Main runs the tests of a package, in a user namespace of their own where they are not root's. It is called
// by TestMain and does not return. Where the system forbids namespaces, the tests run nevertheless, and
// those that Require a lab are skipped. What is in after is called when all tests have ended.
func Main(m *testing.M, after ...func()) {
	status, inside, err := lab.Enter(os.Args[1:])
	if err == nil && !inside {
		os.Exit(status)
	}
	unavailable = err
	status = m.Run()
	for _, f := range after {
		f()
	}
	os.Exit(status)
}

// Require skips the test where this process can build no lab, with the reason; with REQUIRE_NETNS=1 in the
// environment, as in CI, the test fails instead. The package's TestMain must be Main.
func Require(t testing.TB) {
	t.Helper()
	switch {
	case unavailable == nil:
	case os.Getenv("REQUIRE_NETNS") == "1":
		t.Fatalf("REQUIRE_NETNS=1, but: %v", unavailable)
	default:
		t.Skipf("needs network namespaces: %v", unavailable)
	}
}

// New requires a lab and makes one that is closed when the test ends.
func New(t testing.TB, name string) *lab.Lab {
	t.Helper()
	Require(t)
	l, err := lab.New(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("nothing may stay behind: %v", err)
		}
	})
	return l
}

// Node makes a node of l or fails the test.
func Node(t testing.TB, l *lab.Lab, name string) *lab.Node {
	t.Helper()
	n, err := l.Node(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
