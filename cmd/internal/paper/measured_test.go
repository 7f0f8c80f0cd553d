package paper

import (
	"pfcswitch/dataplane/assert"
	"slices"
	"strconv"
	"testing"
)

// What is measured loses nothing where the standard's headroom does, and is smaller than what is calculated.
func TestMeasured(t *testing.T) {
	t.Parallel()
	r := assert.Got(Find("measured")).Must(t)
	v, err := r.Run(t.Context(), Options{Seed: 2, Links: 25})
	assert.Must(t, err)
	row := func(name string) (size float64, lost string) {
		i := slices.IndexFunc(v.Rows, func(c []string) bool { return c[0] == "all" && c[2] == name })
		size, err = strconv.ParseFloat(v.Rows[i][3], 64)
		assert.MustBeTrue(t, err == nil && v.Rows[i][1] == "25", "%q, %v", v.Rows[i], err)
		return size, v.Rows[i][5]
	}
	_, standard := row("standard")
	calculated, none := row("calculated")
	measured, lost := row("measured")
	assert.True(t, standard != "0" && none == "0" && lost == "0" && measured < 0.8*calculated,
		"frames lost: %s, %s and %s; median sizes %v and %v kB", standard, none, lost, calculated, measured)
}
