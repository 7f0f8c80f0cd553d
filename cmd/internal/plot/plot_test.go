package plot

import (
	"fmt"
	"strings"
	"testing"
)

// A line begins where it has its first value, and the left edge says what it stands for.
func TestLineBeginsLater(t *testing.T) {
	panel := Panel{Title: "t", At: []int64{0, 1, 2, 4}, From: "1 m", Unit: func(n int64) string {
		return fmt.Sprintf("%d km", n)
	}, Lines: []Series{{Name: "late", First: 2, Values: []float64{1, 2}}}}
	var b strings.Builder
	if err := Draw(&b, "title", []Panel{panel}); err != nil {
		t.Fatal(err)
	}
	middle, bottom, half := (beside.left+beside.right)/2, 60+panelHeight, panelHeight/2
	for _, want := range []string{
		fmt.Sprintf(`points="%d.0,%d.0 %d.0,60.0 "`, middle, bottom-half, beside.right), ">1 m<", ">4 km<", ">late<",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %s:\n%s", want, b.String())
		}
	}
}
