package dcbx

import "testing"

// Each TLV has the lengths that it has and no other.
func TestLengths(t *testing.T) {
	feature := func(k Kind, v Version) func(string) bool {
		return func(s string) bool { _, ok := parseFeature(k, v, []byte(s)); return ok }
	}
	for name, tt := range map[string]struct {
		takes  func(s string) bool
		length func(n int) bool
	}{
		"ETS": {func(s string) bool { _, ok := parseETS(s); return ok },
			func(n int) bool { return n == 1+4+8+8 }},
		"PFC": {func(s string) bool { _, ok := parsePFC(s); return ok }, func(n int) bool { return n == 2 }},
		"applications": {func(s string) bool { _, ok := parseApps(s); return ok },
			func(n int) bool { return n >= 1 && (n-1)%3 == 0 }},
		"control": {func(s string) bool { _, ok := parseControl([]byte(s)); return ok },
			func(n int) bool { return n == 2+4+4 }},

		"groups of CEE": {feature(KindGroups, VersionCEE), func(n int) bool { return n == 4+4+8+1 }},
		"groups of CIN": {feature(KindGroups, VersionCIN), func(n int) bool { return n == 4+8+16 }},
		"PFC of CEE":    {feature(KindPFC, VersionCEE), func(n int) bool { return n == 4+2 }},
		"PFC of CIN":    {feature(KindPFC, VersionCIN), func(n int) bool { return n == 4+1 }},
		"applications of CEE": {feature(KindApplication, VersionCEE),
			func(n int) bool { return n >= 4 && (n-4)%6 == 0 }},
	} {
		for n := range 512 {
			if got, want := tt.takes(string(make([]byte, n))), tt.length(n); got != want {
				t.Errorf("%s of %d octets: taken %t, want %t", name, n, got, want)
			}
		}
	}
}
