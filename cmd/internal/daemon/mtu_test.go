package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// An interface that takes shorter frames than its port is a warning; that it takes them now is none.
func TestMTUInTheLog(t *testing.T) {
	var log bytes.Buffer
	d := unpluggedLog(t, "", "flow_control: off", slog.New(slog.NewTextHandler(&log, nil)))
	p := d.ports["p1"]
	for _, mtu := range []int{p.cfg.MTU - 1, p.cfg.MTU - 1, p.cfg.MTU, p.cfg.MTU + 1} {
		p.at.link = port.Link{Name: "nowhere-p1", MTU: mtu}
		d.reportMTU(p)
	}
	must(t, d.Close()) // the log is written by then
	if got := levels(log.String()); got != "WARN INFO" {
		t.Errorf("%q in\n%s", got, log.String())
	}
}

// levels are those of the lines about MTUs.
func levels(log string) string {
	var said []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "has an MTU of") {
			_, line, _ = strings.Cut(line, "level=")
			level, _, _ := strings.Cut(line, " ")
			said = append(said, level)
		}
	}
	return strings.Join(said, " ")
}

// The wire of a host NIC that takes longer frames than its port is a warning too, once, with the flag to give.
func TestMTUOfAWireInTheLog(t *testing.T) {
	for speed, want := range map[string]string{"1G": "WARN INFO", "none": ""} { // without a speed frames of any length pass
		t.Run(speed, func(t *testing.T) {
			c, _, err := config.HostNIC(config.NIC{Wire: "nowhere0", TAP: "nowhere1", Speed: speed, Socket: t.TempDir() + "/nic.sock", Metrics: "off"})
			must(t, err)
			var log bytes.Buffer
			d, err := New(c, slog.New(slog.NewTextHandler(&log, nil)))
			must(t, err)
			p := d.ports["nowhere0"]
			for _, mtu := range []int{1500, 9000, 9000, 1500} {
				p.at.link = port.Link{Name: "nowhere0", MTU: mtu}
				d.reportMTU(p)
			}
			must(t, d.Close())
			if got := levels(log.String()); got != want || strings.Contains(log.String(), "pfcswitch nic --mtu 9000") != (want != "") {
				t.Errorf("%q, want %q, in\n%s", got, want, log.String())
			}
		})
	}
}
