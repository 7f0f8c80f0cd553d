package daemon

import (
	"fmt"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
)

// A port that comes while another goes does not get its number, and with it its sockets.
func TestNumbersAreNotHandedOn(t *testing.T) {
	d := &Daemon{numbers: map[string]int{"a": 0, "b": 1}}
	got, err := d.number(&config.Config{Ports: []config.Port{{Name: "c"}, {Name: "b"}, {Name: "d"}}})
	if err != nil || len(got) != 3 || got["b"] != 1 || got["c"] != 2 || got["d"] != 3 {
		t.Errorf("got %v, %v, want b 1, c 2, d 3", got, err)
	}
}

// More ports than there are numbers cannot be replaced at once: that is said before anything is touched.
func TestTooManyPortsReplacedAtOnce(t *testing.T) {
	d := &Daemon{numbers: map[string]int{}}
	var b strings.Builder
	b.WriteString("ports:\n")
	for i := range 129 {
		d.numbers[fmt.Sprintf("old%d", i)] = i
		fmt.Fprintf(&b, "  new%d: {}\n", i)
	}
	c, _, err := config.Parse("test.yaml", []byte(b.String()))
	must(t, err)
	if _, err := d.number(c); err == nil || !strings.Contains(err.Error(), "test.yaml:1: ports: 258 ports, those that go counted in: a switch has at most 256 at a time, so apply it in two steps") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	delete(d.numbers, "old128")
	c.Ports = c.Ports[:128]
	if numbers, err := d.number(c); err != nil || len(numbers) != 128 {
		t.Errorf("128 ports replaced: %d numbers, %v", len(numbers), err)
	}
}

func TestHardwareAddressesAreWrittenAsPeopleDo(t *testing.T) {
	if got, want := macText([6]byte{0xaa, 0x77, 0xc5, 0xb4, 0x37, 0x8f}), "aa:77:c5:b4:37:8f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
