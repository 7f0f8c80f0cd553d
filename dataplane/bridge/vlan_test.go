package bridge

import "testing"

func TestVLANs(t *testing.T) {
	s := vlans(t, 1, 64, 4094)
	for _, vid := range []uint16{1, 64, 4094} {
		if !s.Has(vid) {
			t.Errorf("VLAN %d missing", vid)
		}
	}
	for _, vid := range []uint16{0, 2, 63, 65, 4093, 4095, 4096, 4160, 65535} {
		if s.Has(vid) {
			t.Errorf("VLAN %d in the set", vid)
		}
	}
	for _, vid := range []uint16{0, 4095, 4096, 65535} {
		_, err := VLANs(10, vid)
		wantError(t, err, "use 1 to 4094")
	}
}

func TestIngress(t *testing.T) {
	b := newBridge(t, Config{})
	setPort(t, b, 0, PortConfig{PVID: 5, Tagged: vlans(t, 10, 4094)})
	for _, tt := range []struct {
		name   string
		port   int
		tagged bool
		vid    uint16
		want   uint16
		ok     bool
	}{
		{"untagged", 0, false, 0, 5, true},
		{"untagged, whatever stands in vid", 0, false, 99, 5, true},
		{"priority tag", 0, true, 0, 5, true},
		{"tagged with the PVID", 0, true, 5, 5, true},
		{"tagged member", 0, true, 10, 10, true},
		{"highest VLAN", 0, true, 4094, 4094, true},
		{"not a member", 0, true, 11, 11, false},
		{"reserved VID", 0, true, 4095, 4095, false},
		{"more than 12 bits", 0, true, 4096 + 10, 4096 + 10, false},
		{"no such port, untagged", 1, false, 0, 0, false},
		{"no such port, tagged", 1, true, 10, 10, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := b.Ingress(tt.port, tt.tagged, tt.vid)
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %d, %v; want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestEgress(t *testing.T) {
	b := newBridge(t, Config{})
	setPort(t, b, 7, PortConfig{PVID: 5, Tagged: vlans(t, 5, 10)})
	for _, tt := range []struct {
		port int
		vid  uint16
		want Form
	}{
		{7, 5, Untagged}, // the PVID wins over the tagged set
		{7, 10, Tagged},
		{7, 11, NotMember},
		{7, 0, NotMember},
		{7, 4095, NotMember},
		{7, 4096 + 10, NotMember},
		{8, 5, NotMember},
		{8, 0, NotMember},
	} {
		if got := b.Egress(tt.port, tt.vid); got != tt.want {
			t.Errorf("port %d, VLAN %d: got %v, want %v", tt.port, tt.vid, got, tt.want)
		}
	}
}
