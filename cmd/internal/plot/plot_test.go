package plot

import (
	"fmt"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// A line begins where it has its first value, and the left edge says what it stands for.
func TestLineBeginsLater(t *testing.T) {
	panel := Panel{Title: "t", At: []int64{0, 1, 2, 4}, From: "1 m", Unit: func(n int64) string {
		return fmt.Sprintf("%d km", n)
	}, Lines: []Series{{Name: "late", First: 2, Values: []float64{1, 2}}}}
	var b strings.Builder
	assert.Must(t, Draw(&b, "title", []Panel{panel}))
	middle, bottom, half := (beside.left+beside.right)/2, 60+panelHeight, panelHeight/2
	for _, want := range []string{
		fmt.Sprintf(`points="%d.0,%d.0 %d.0,60.0 "`, middle, bottom-half, beside.right), ">1 m<", ">4 km<", ">late<",
	} {
		assert.True(t, strings.Contains(b.String(), want), "the picture lacks %s:\n%s", want, b.String())
	}
}

// Large numbers at an axis have no exponent.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 23.6789: "23.68", 999.96: "1000", 9999.6: "10000",
		335542.3: "335542"} {
		assert.Equal(t, number(v), want, "%v is written", v)
	}
}
