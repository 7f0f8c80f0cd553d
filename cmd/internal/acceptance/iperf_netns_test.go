package acceptance

import (
	"bytes"
	"fmt"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// iperf3 as Debian ships it, with the kernels' default offloads, through the switch in a lossless class: its
// GSO frames stay whole, and the switch loses none.
func TestIperf3(t *testing.T) {
	path := program(t, "iperf3", "iperf3")
	r := NewRig(t, 2)
	r.offloadingHosts()
	r.Start(Setup{Keys: "priorities: {lossless: [3], trust: dscp, dscp: {26: 3}}", Each: "speed: none"})
	for _, streams := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d streams", streams), func(t *testing.T) {
			before := r.Snapshot(2).Counters
			octets := r.iperf3(path, streams)
			c := r.Snapshot(2).Counters
			frames, lossless := c.SentFrames-before.SentFrames, c.QueueSent[3]-before.QueueSent[3]
			assert.True(t, octets >= 1<<20 && c.SentBytes-before.SentBytes >= octets,
				"%d octets came, and the switch has sent %d", octets, c.SentBytes-before.SentBytes)
			assert.True(t, octets/frames >= 3*1514, "%d octets a frame: those that the host's kernel sends are longer",
				octets/frames)
			assert.True(t, lossless*10 >= frames*9, "%d of %d frames were lossless", lossless, frames)
		})
	}
	r.NoLosslessDrops()
}

// iperf3 sends from host 1 to host 2 and returns the octets that host 2 counted. It sends so much that its own
// messages, which are lossy, are few beside that.
func (r *Rig) iperf3(path string, streams int) uint64 {
	r.T.Helper()
	server, err := r.Host(2).Start(lab.Command{Argv: []string{path, "-s", "-1", "-B", HostIP(2).String()}})
	must(r.T, err)
	eventually(r.T, "iperf3 listens", func() bool {
		return assert.Got(r.Host(2).Listens(5201)).Must(r.T)
	})
	var report bytes.Buffer
	client, err := r.Host(1).Start(lab.Command{Stdout: &report, Argv: []string{path, "-c", HostIP(2).String(), "-n",
		"32M", "-P", fmt.Sprint(streams), "--dscp", "26", "-J"}})
	must(r.T, err)
	failed := client.Wait()
	found, err := traffic.ParseIperf(report.Bytes())
	assert.MustBeTrue(r.T, failed == nil && err == nil && found.Streams == streams, "iperf3: %v, %v, %d streams",
		failed, err, found.Streams)
	must(r.T, server.Wait())
	return found.Octets
}
