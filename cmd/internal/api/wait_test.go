package api

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// Priorities that wait alike share a line, of one port and kind.
func TestWaitsText(t *testing.T) {
	c, _, err := config.Parse("test.yaml", []byte(`
priorities: {lossless: [3, 4]}
buffer: {private: 0B, headroom: 3KiB, lossless: {size: 60KiB}, lossy: {size: 140000B}}
headroom: {small_packets: 0%}
ports: {p1: {speed: 100M}, p2: {speed: none, flow_control: off}}
`))
	assert.Must(t, err)
	_, table, _ := strings.Cut(WaitsText(c.Waits()), "senders.\n")
	const want = "PORT  SPEED  PRIORITIES       KIND       BYTES     WAIT\n" +
		"p1     100M  0,1,2,3,4,5,6,7  lossy     70,000    5.6ms\n" +
		"p2        -  0,1,2,5,6,7      lossy     70,000     56µs\n" +
		"p2        -  3,4              lossless  30,732  24.59µs\n"
	assert.Equal(t, table, want, "table")
	assert.Equal(t, WaitsText(nil), "", "without a port to wait for")
}
