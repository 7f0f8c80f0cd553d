package traffic

import (
	"fmt"
	"testing"
)

// A report of iperf3 is refused, or has octets and a rate; a MAC address is one of six octets.
func FuzzTexts(f *testing.F) {
	f.Add([]byte(`{"end":{"streams":[{}],"sum_sent":{"retransmits":3},"sum_received":{"bytes":9,"bits_per_second":7.5}}}`))
	f.Add([]byte(`{"error":"unable to connect"}`))
	f.Add([]byte("02:00:00:00:00:01"))
	f.Add([]byte("0200.5e10.0001"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseIperf(b); err == nil && (r.Octets == 0 || !(r.Rate > 0)) {
			t.Errorf("%q: %+v", b, r)
		}
		mac, err := ParseMAC(string(b))
		if err != nil {
			return
		}
		text := ""
		for shift := 40; shift >= 0; shift -= 8 {
			text += fmt.Sprintf(":%02x", mac>>shift&0xff)
		}
		if again, err := ParseMAC(text[1:]); again != mac || err != nil || mac>>48 != 0 {
			t.Errorf("%q: %012x, which is read again as %012x, %v", b, mac, again, err)
		}
	})
}
