package port_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine of a watch or of a call inside another namespace stays behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
