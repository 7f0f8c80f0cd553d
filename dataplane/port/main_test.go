package port_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine of Watch or InNetns stays behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
