package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/config"
)

// A port that comes while another goes does not get its number, and with it its sockets.
func TestNumbersAreNotHandedOn(t *testing.T) {
	d := &Daemon{numbers: map[string]int{"a": 0, "b": 1}}
	got := d.number(&config.Config{Ports: []config.Port{{Name: "c"}, {Name: "b"}, {Name: "d"}}})
	if len(got) != 3 || got["b"] != 1 || got["c"] != 2 || got["d"] != 3 {
		t.Errorf("got %v, want b 1, c 2, d 3", got)
	}
}

func TestHardwareAddressesAreWrittenAsPeopleDo(t *testing.T) {
	if got, want := hardware([6]byte{0xaa, 0x77, 0xc5, 0xb4, 0x37, 0x8f}), "aa:77:c5:b4:37:8f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
