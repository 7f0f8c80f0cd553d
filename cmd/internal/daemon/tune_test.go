package daemon

import "testing"

func TestHardwareAddressesAreWrittenAsPeopleDo(t *testing.T) {
	if got, want := hardware([6]byte{0xaa, 0x77, 0xc5, 0xb4, 0x37, 0x8f}), "aa:77:c5:b4:37:8f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
