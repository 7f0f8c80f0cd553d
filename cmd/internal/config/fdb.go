package config

import (
	"errors"
	"net"
)

// StaticEntry is an FDB entry that does not age.
type StaticEntry struct {
	MAC  [6]byte // an individual address
	VLAN uint16
	Port string // key of a port
}

var vlan = number[uint16]("VLAN", 1, 4094)

func (c *Config) readFDB(v value) {
	for _, item := range v.items() {
		entry := StaticEntry{VLAN: 1}
		item.needs("mac", "port")
		item.read(
			field{"mac", set(&entry.MAC, individualAddress)},
			field{"vlan", set(&entry.VLAN, vlan)},
			field{"port", set(&entry.Port, anyWord)},
		)
		c.FDB = append(c.FDB, entry)
	}
}

var individualAddress = matching(`^`+octetForm+`([:.-]?`+octetForm+`){5}$`, readIndividualAddress)

func readIndividualAddress(text string) (mac [6]byte, err error) {
	address, err := net.ParseMAC(text)
	if err != nil || len(address) != len(mac) {
		return mac, errors.New(`is not a MAC address: write six octets, such as "02:00:00:00:00:01"`)
	}
	if copy(mac[:], address); address[0]&1 == 1 || mac == [6]byte{} {
		return mac, errors.New("is a group or null address: write that of a station, with an even first octet")
	}
	return mac, nil
}
