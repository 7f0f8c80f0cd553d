package labtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// recorder records how Require ended a test.
type recorder struct {
	testing.TB
	message string
}

func (v *recorder) Helper() {}
func (v *recorder) Skipf(format string, args ...any) {
	v.message = "skip: " + fmt.Sprintf(format, args...)
}
func (v *recorder) Fatalf(format string, args ...any) {
	v.message = "fail: " + fmt.Sprintf(format, args...)
}

func TestRequire(t *testing.T) {
	defer func(before error) { unavailable = before }(unavailable)
	for _, test := range []struct {
		name, env string
		whyNot    error
		want      string
	}{
		{"rights", "", nil, ""},
		{"rights, required", "1", nil, ""},
		{"no rights", "", errors.New("the reason"), "skip: "},
		{"no rights, required", "1", errors.New("the reason"), "fail: "},
	} {
		t.Setenv("REQUIRE_NETNS", test.env)
		unavailable = test.whyNot
		var got recorder
		Require(&got)
		assert.True(t, strings.HasPrefix(got.message, test.want) && (got.message == "") == (test.want == ""),
			"%s: got %q, want %q…", test.name, got.message, test.want)
		assert.True(t, test.whyNot == nil || strings.Contains(got.message, "the reason"), "%s: %q does not say why",
			test.name, got.message)
	}
}
