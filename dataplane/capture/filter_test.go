package capture

import (
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Programs as tcpdump 4.99 prints them.
const (
	macControl = "4\n40 0 0 12\n21 0 1 34824\n6 0 0 262144\n6 0 0 0\n"
	greater100 = "4\n128 0 0 0\n53 0 1 100\n6 0 0 262144\n6 0 0 0\n"
	first20    = "1,6 0 0 20"
)

func TestFilter(t *testing.T) {
	control := append(frameOf(12), 0x88, 0x08, 0)
	for _, test := range []struct {
		name, program string
		data          []byte
		length, want  int
	}{
		{"the frame that it looks for", macControl, control, len(control), len(control)},
		{"another one", macControl, frameOf(60), 60, 0},
		{"too short to tell", macControl, frameOf(13), 13, 0},
		{"length of the frame, not of what was captured", greater100, frameOf(60), 1514, 60},
		{"a short one", greater100, frameOf(60), 60, 0},
		{"a program that cuts", first20, frameOf(60), 60, 20},
		{"longer than any frame", greater100, frameOf(60), MaxSnap + 1, 0},
	} {
		f := assert.Got(ParseFilter(test.program)).Must(t)
		for range 2 { // the second time too
			assert.Equal(t, f.Keep(test.data, test.length), test.want, "%s: keeps", test.name)
		}
	}
	var none *Filter
	assert.Equal(t, none.Keep(frameOf(60), 60), 60, "octets of 60 that no filter keeps")
}

// Octets of one frame do not show in the next one.
func TestFilterForgets(t *testing.T) {
	f := assert.Got(ParseFilter(macControl)).Must(t)
	f.Keep(append(frameOf(12), 0x88, 0x08), 100)
	assert.Equal(t, f.Keep(frameOf(12), 100), 0, "octets that it keeps of a type that it has not seen")
}

func TestFilterRefuses(t *testing.T) {
	for _, test := range []struct{ program, want string }{
		{"", "empty"},
		{"ether proto 0x8808", "number of its instructions"},
		{"2,6 0 0 1", "number of its instructions"},
		{"0", "number of its instructions"},
		{"5000" + strings.Repeat(",6 0 0 1", 5000), "1 to 4096"},
		{"1,6 0 300 1", "instruction 0 of the filter: \"300\""},
		{"1,5 0 0 0", "no program"},
		{"1,65535 0 0 1", "does not have"},
		{"2,21 0 200 1,6 0 0 0", "no program"},
		{"1,0 0 0 1", "no program"},
	} {
		if _, err := ParseFilter(test.program); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: %v, want an error that says %q", test.program, err, test.want)
		}
	}
}

// A program is either refused, or it runs on any frame and ends.
func FuzzFilter(f *testing.F) {
	f.Add(macControl, []byte("0123456789abcdef"))
	f.Add(greater100, []byte{})
	f.Add("3,177 0 0 14,72 0 0 2,6 0 0 1", make([]byte, 15))
	f.Fuzz(func(t *testing.T, program string, data []byte) {
		p, err := ParseFilter(program)
		if err != nil {
			return
		}
		n := p.Keep(data, len(data)+10)
		assert.True(t, n >= 0 && n <= len(data), "keeps %d of %d octets", n, len(data))
	})
}
