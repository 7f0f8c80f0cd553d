package paper

import (
	"bytes"
	"pfcswitch/dataplane/assert"
	"slices"
	"strings"
	"testing"
)

// document is the text and the picture of a study.
func document(t *testing.T, s *Study, seed uint64) string {
	t.Helper()
	r := assert.Got(s.Run(t.Context(), Options{Seed: seed, Links: 10})).Must(t)
	var b bytes.Buffer
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return r.Text(b) }, func(b *bytes.Buffer) error { return r.Picture(b) },
	} {
		assert.Must(t, write(&b))
	}
	for _, row := range r.Rows {
		assert.True(t, len(row) == len(r.Columns),
			"%s: a row of %d columns, want %d: %q", s.Name, len(row), len(r.Columns), row)
	}
	assert.True(t, len(r.Rows) != 0 && r.Remark != "" && strings.Contains(b.String(), "<polyline"),
		"%s: no table, remark or picture", s.Name)
	return b.String()
}

// The same seed gives the same bytes of table and picture.
func TestStudiesAreDeterministic(t *testing.T) {
	for i := range Studies {
		t.Run(Studies[i].Name, func(t *testing.T) {
			t.Parallel()
			first := document(t, &Studies[i], 1)
			assert.True(t, document(t, &Studies[i], 1) == first, "two runs with the same seed differ")
		})
	}
}

// The list names each study once, and so does the error for a name that is none's.
func TestList(t *testing.T) {
	var b strings.Builder
	assert.Must(t, List(&b))
	_, err := Find("none")
	assert.MustBeTrue(t, err != nil, "there is a study named none")
	var names []string
	for i := range Studies {
		s, wrong := Find(Studies[i].Name)
		if wrong != nil || s.Claim == "" || s.Source == "" || slices.Contains(names, s.Name) {
			t.Errorf("%+v, %v", s, wrong)
			continue
		}
		names = append(names, s.Name)
		assert.True(t, strings.Contains(b.String(), s.Name+" ") && strings.Contains(err.Error(), s.Name),
			"%s is in neither the list nor the error:\n%s%v", s.Name, b.String(), err)
	}
}
