package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// capitalUnit is a heading that ends in a unit which capital letters make another one: s is a second and S a siemens,
// µs and µS likewise.
var capitalUnit = regexp.MustCompile(`^[^a-z\n]+([ -][µUMN]?S|/S)$`)

// otherUnit is a unit that people see in no other place: sizes are in bytes, KiB and MiB, rates in bit/s.
var otherUnit = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:\d+|%[0-9.]*[dfgsv])?([kKMG](?:B|bps|B/s))(?:[^A-Za-z/]|$)`)

// ofOthers have the units of others: papers, what a configuration may be written in, and CPU time per 10^9 bytes.
var ofOthers = []string{"cmd/internal/paper", "cmd/internal/config", "cmd/internal/bench"}

// checkUnits finds headings of tables whose units are in capital letters, and units that the project does not write.
func checkUnits(t *tree) (found []string) {
	for _, f := range t.files {
		if f.test {
			continue
		}
		each(f.ast, func(l *ast.BasicLit) {
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				return // no string
			}
			if unit := otherUnit.FindStringSubmatch(text); unit != nil && !slices.Contains(ofOthers, f.pkg) {
				found = append(found, fmt.Sprintf("%s: %s: write bytes, KiB and MiB, and rates in bit/s", t.at(l.Pos()),
					unit[1]))
			}
			for cell := range strings.SplitSeq(text, "\t") {
				if capitalUnit.MatchString(strings.TrimSpace(cell)) {
					found = append(found, fmt.Sprintf("%s: %q: write the unit as it is, such as µs, s, bit/s",
						t.at(l.Pos()), strings.TrimSpace(cell)))
				}
			}
		})
	}
	return found
}

func TestUnits(t *testing.T) {
	obeys(t, "units are written in one way", checkUnits, []check{
		{"units", map[string]string{"a/a.go": `var a = []string{"AGE s", "PORT\tP50 µs\tMbit/s\tLOST %\tDROPS/s\t\n", ">RX bit/s",
				"DROPS", "2 ports", "S", "-S", "RX FRAMES"}`,
			"a/a_test.go": `var b = "AGE S"`}, nil},
		{"capitals", map[string]string{"a/a.go": `var a = ">AGE S"
var b = "PORT\tP50 µS\tP99.9-US\tMBIT/S\t\n"
var c = "MAX LAST 10 S"
var d = ">RX FRAMES/S"`}, []string{`:2: ">AGE S"`, `:3: "MBIT/S"`, `:3: "P50 µS"`, `:3: "P99.9-US"`, `:4: "MAX LAST 10 S"`, `:5: ">RX FRAMES/S"`}},
		{"others", map[string]string{"a/a.go": `var a = []string{"%d kB", "buffer, kB", "%.1fMB/s", "4 KiB", "9 Gbit/s", "KB", "EN10MB"}`,
			"cmd/internal/paper/a.go": `var b = "queue kB"`}, []string{"a/a.go:2: KB", "a/a.go:2: MB/s", "a/a.go:2: kB",
			"a/a.go:2: kB"}},
	})
}
