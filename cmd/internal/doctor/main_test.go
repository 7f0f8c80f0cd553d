package doctor

import (
	"os"
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, func() {
		if bin != "" {
			_ = os.RemoveAll(bin)
		}
	})
}
