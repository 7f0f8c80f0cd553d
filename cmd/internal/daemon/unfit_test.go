package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"pfcswitch/dataplane/port"
)

// An interface that takes shorter frames than its port is a warning; that it takes them now is none.
func TestMTUInTheLog(t *testing.T) {
	var log bytes.Buffer
	d := unpluggedLog(t, "", "flow_control: off", slog.New(slog.NewTextHandler(&log, nil)))
	p := d.ports["p1"]
	for _, mtu := range []int{p.cfg.MTU - 1, p.cfg.MTU - 1, p.cfg.MTU, p.cfg.MTU + 1} {
		p.at.link = port.Link{Name: "nowhere-p1", MTU: mtu}
		d.measureMTU(p)
	}
	must(t, d.Close()) // the log is written by then
	var said []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "has an MTU of") {
			_, line, _ = strings.Cut(line, "level=")
			level, _, _ := strings.Cut(line, " ")
			said = append(said, level)
		}
	}
	if got := strings.Join(said, " "); got != "WARN INFO" {
		t.Errorf("%q in\n%s", got, log.String())
	}
}
