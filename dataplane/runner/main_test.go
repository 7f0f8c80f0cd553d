package runner

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine of a Runner outlives its Close.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
