package traffic

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

func TestParseIperf(t *testing.T) {
	got, err := ParseIperf([]byte(`{"end":{"streams":[{},{}],"sum_sent":{"bytes":100,"bits_per_second":1,"retransmits":42},
		"sum_received":{"bytes":90,"bits_per_second":8e9}}}`))
	want := (IperfReport{90, 8e9, 42, 2})
	assert.True(t, got == want && err == nil, "%+v, %v, want %+v", got, err, want)
	for _, text := range []string{"", "{", `{"error":"unable to connect"}`,
		`{"end":{"sum_received":{"bytes":0,"bits_per_second":0}}}`} {
		got, err := ParseIperf([]byte(text))
		assert.True(t, err != nil, "%q: %+v and no error", text, got)
	}
}
