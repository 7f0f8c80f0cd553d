package lldp

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// What every LLDPDU of these tests begins with: chassis 02:00:00:00:00:01, port "p1", 121 s.
const (
	chassis  = "0207 04 020000000001"
	port     = "0403 05 7031"
	lifetime = "0602 0079"
	end      = "0000"
)

var (
	leaf  = PDU{Chassis: ID{ChassisMAC, "\x02\x00\x00\x00\x00\x01"}, Port: ID{PortIfName, "p1"}, SystemName: "leaf"}
	spine = PDU{Chassis: ID{ChassisMAC, "\x02\x00\x00\x00\x00\x02"}, Port: ID{PortIfName, "p7"}, SystemName: "spine"}

	leafMAC  = [6]byte{2, 0, 0, 0, 0, 1}
	spineMAC = [6]byte{2, 0, 0, 0, 0, 2}
)

func config(local PDU, mac [6]byte) Config {
	return Config{Local: local, MAC: mac, Interval: 30, Hold: 4}
}

// announcement returns the frame by which a neighbour announces p for ttl seconds.
func announcement(p PDU, ttl uint16) []byte {
	p.TTL = ttl
	return AppendFrame(nil, spineMAC, &p)
}

// sent returns all frames that an Agent has to send.
func sent(t *testing.T, a *Agent) (pdus []PDU) {
	t.Helper()
	for f := a.Transmit(); f != nil; f = a.Transmit() {
		_, raw, err := ParseFrame(f)
		assert.Must(t, err)
		p, discarded, err := ParsePDU(raw)
		assert.MustBeTrue(t, err == nil && discarded == (Discarded{}), "own frame: %+v, %v", discarded, err)
		pdus = append(pdus, p)
	}
	return pdus
}
