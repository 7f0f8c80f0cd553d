package labtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// verdict records how Require ended a test.
type verdict struct {
	testing.TB
	said string
}

func (v *verdict) Helper()                          {}
func (v *verdict) Skipf(format string, args ...any) { v.said = "skip: " + fmt.Sprintf(format, args...) }
func (v *verdict) Fatalf(format string, args ...any) {
	v.said = "fail: " + fmt.Sprintf(format, args...)
}

func TestRequire(t *testing.T) {
	defer func(before error) { whyNot = before }(whyNot)
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
		whyNot = test.whyNot
		var got verdict
		Require(&got)
		if !strings.HasPrefix(got.said, test.want) || (got.said == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q…", test.name, got.said, test.want)
		}
		if test.whyNot != nil && !strings.Contains(got.said, "the reason") {
			t.Errorf("%s: %q does not say why", test.name, got.said)
		}
	}
}
