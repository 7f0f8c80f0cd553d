package bridge

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestVLANs(t *testing.T) {
	s := vlans(t, 1, 64, 4094)
	for _, vid := range []uint16{1, 64, 4094} {
		assert.True(t, s.Has(vid), "VLAN %d missing", vid)
	}
	for _, vid := range []uint16{0, 2, 63, 65, 4093, 4095, 4096, 4160, 65535} {
		assert.True(t, !s.Has(vid), "VLAN %d in the set", vid)
	}
	for _, vid := range []uint16{0, 4095, 4096, 65535} {
		_, err := VLANs(10, vid)
		wantError(t, err, "use 1 to 4094")
	}
}

func TestIngress(t *testing.T) {
	b := newBridge(t, Config{})
	for i, a := range []Admit{AdmitAll, AdmitTagged, AdmitUntagged} {
		setPort(t, b, i, PortConfig{PVID: 5, Tagged: vlans(t, 10, 4094), Admit: a})
	}
	const none = DropNone
	for _, tt := range []struct {
		name   string
		tagged bool
		vid    uint16
		want   uint16
		why    [3]DropReason // with admit: all, tagged, untagged
	}{
		{"untagged", false, 0, 5, [3]DropReason{none, DropFrameType, none}},
		{"untagged, whatever stands in vid", false, 99, 5, [3]DropReason{none, DropFrameType, none}},
		{"priority tag", true, 0, 5, [3]DropReason{none, DropFrameType, none}},
		{"tagged with the PVID", true, 5, 5, [3]DropReason{none, none, DropFrameType}},
		{"tagged member", true, 10, 10, [3]DropReason{none, none, DropFrameType}},
		{"highest VLAN", true, 4094, 4094, [3]DropReason{none, none, DropFrameType}},
		{"not a member", true, 11, 11, [3]DropReason{DropFiltered, DropFiltered, DropFiltered}},
		{"reserved VID", true, 4095, 4095, [3]DropReason{DropFiltered, DropFiltered, DropFiltered}},
		{"more than 12 bits", true, 4106, 4106, [3]DropReason{DropFiltered, DropFiltered, DropFiltered}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, why := range tt.why {
				if got, reason := b.Ingress(i, tt.tagged, tt.vid); got != tt.want || reason != why {
					t.Errorf("port %d: got %d, %v; want %d, %v", i, got, reason, tt.want, why)
				}
			}
			_, reason := b.Ingress(7, tt.tagged, tt.vid)
			assert.True(t, reason == DropFiltered, "a port that is not there: %v", reason)
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
		assert.Equal(t, b.Egress(tt.port, tt.vid), tt.want, "port %d, VLAN %d", tt.port, tt.vid)
	}
}
