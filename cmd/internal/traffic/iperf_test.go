package traffic

import "testing"

func TestParseIperf(t *testing.T) {
	got, err := ParseIperf([]byte(`{"end":{"streams":[{},{}],"sum_sent":{"bytes":100,"bits_per_second":1,"retransmits":42},
		"sum_received":{"bytes":90,"bits_per_second":8e9}}}`))
	if want := (IperfReport{90, 8e9, 42, 2}); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, text := range []string{"", "{", `{"error":"unable to connect"}`,
		`{"end":{"sum_received":{"bytes":0,"bits_per_second":0}}}`} {
		if got, err := ParseIperf([]byte(text)); err == nil {
			t.Errorf("%q: %+v and no error", text, got)
		}
	}
}
