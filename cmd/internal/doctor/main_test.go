package doctor

import (
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }
