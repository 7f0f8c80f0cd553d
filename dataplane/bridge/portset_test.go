package bridge

import (
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestPortSet(t *testing.T) {
	members := []int{0, 1, 63, 64, 127, 128, 200, 255}
	s := ports(members...)
	assert.Same(t, slices.Collect(s.All()), members, "All")
	assert.Equal(t, s.Len(), len(members), "Len")
	for i := range MaxPorts {
		assert.Equal(t, s.Has(i), slices.Contains(members, i), "Has(%d)", i)
	}
	for _, i := range members {
		assert.True(t, !s.Empty(), "empty before port %d was removed", i)
		s.Remove(i)
	}
	assert.True(t, s.Empty() && s == (PortSet{}), "not empty after all were removed: %v", s)
}

func TestPortSetAllStops(t *testing.T) {
	s := ports(3, 70, 130)
	var got []int
	for i := range s.All() {
		got = append(got, i)
		if len(got) == 2 {
			break
		}
	}
	want := []int{3, 70}
	assert.True(t, slices.Equal(got, want), "got %v, want %v", got, want)
}

func TestPortSetAnd(t *testing.T) {
	s, o := ports(1, 2, 64, 255), ports(2, 3, 255)
	s.intersect(&o)
	want := ports(2, 255)
	assert.True(t, s == want, "got %v, want %v", slices.Collect(s.All()), slices.Collect(want.All()))
}
