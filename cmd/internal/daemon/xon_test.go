package daemon

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// A resume threshold is bounded by what the ports share. When another port gives headroom back, it is as wanted.
func TestXonFollowsWhatIsShared(t *testing.T) {
	d := assert.Got(New(parse(t, fmt.Sprintf("name: a\npreset: roce\nbuffer: {lossless: {size: 4MiB}}\n"+
		"metrics: {listen: off}\napi: {socket: %s}\nports: {none0: {speed: 1G}, none1: {speed: 1G}}\n",
		filepath.Join(t.TempDir(), "s"))), slog.New(slog.DiscardHandler))).Must(t)
	t.Cleanup(func() { must(t, d.Close()) })
	d.mu.Lock()
	defer d.mu.Unlock()
	const wanted = 1_000_000
	other, p := d.ports["none0"], d.ports["none1"]
	xon := func(headroom int64) int64 {
		must(t, d.setHeadroom(other, headroom, "test"))
		d.setXon(p, wanted)
		var s dataplane.Snapshot
		d.runner.Snapshot(&s)
		return s.Ports[p.number].Config.Ingress[3].Xon
	}
	got := xon(3 << 20)
	assert.True(t, got > 0 && got < wanted, "beside a headroom of 3 MiB of 4 MiB: %d", got)
	assert.Equal(t, xon(64<<10), wanted, "threshold when the headroom was given back")
}
