package porttest

import (
	"os"
	"strings"
	"testing"

	"pfcswitch/dataplane/port"
)

// RequireXDP skips a test for which a port has to send by an AF_XDP socket where it does not. With REQUIRE_NETNS=1 in the
// environment it does so only where the kernel is too old for that, and else the test fails.
func RequireXDP(t testing.TB, way port.TxPath) {
	t.Helper()
	switch {
	case way.XDP:
	case os.Getenv("REQUIRE_NETNS") == "1" && !strings.Contains(way.Why, port.XDPNeeds):
		t.Fatalf("REQUIRE_NETNS=1, but the port does not send by an AF_XDP socket: %s", way.Why)
	default:
		t.Skipf("NOT TESTED: a port that sends by an AF_XDP socket: %s", way.Why)
	}
}
