// Package tshark lets another implementation read what this one sends, for tests: Wireshark's command line.
//
//	tshark.go             frames or a capture → fields
//	dcbx_test.go          every frame of LLDP and DCBX
//	cin_test.go           those of its oldest version, which it misreads
//	measurement_test.go   every frame that measures headroom, loop probes and echoes
package tshark

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"pfcswitch/dataplane/assert"
)

// Complaints are the fields in which tshark says what is wrong with a frame.
var Complaints = []string{"_ws.expert.message", "_ws.malformed"}

// Need returns where tshark is. Without it the test is left out, but not in CI, which installs it.
func Need(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("tshark")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatalf("CI installs tshark, but: %v", err)
	case err != nil:
		t.Skip("NOT TESTED that others understand our frames: there is no tshark (Debian: apt-get install tshark)")
	}
	return path
}

// Decode returns the fields of each of the frames, which begin with the destination address and have no FCS.
func Decode(t testing.TB, frames [][]byte, fields ...string) []map[string][]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frames.pcap")
	f := assert.Got(os.Create(path)).Must(t)
	defer func() { _ = f.Close() }()
	w := pcapgo.NewWriter(f)
	assert.Must(t, w.WriteFileHeader(65536, layers.LinkTypeEthernet))
	for _, b := range frames {
		assert.Must(t,
			w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(b), Length: len(b)}, b))
	}
	return Fields(t, path, fields...)
}

// Fields returns the fields of each frame of a capture file.
func Fields(t testing.TB, path string, fields ...string) (frames []map[string][]string) {
	t.Helper()
	args := []string{"-n", "-r", path, "-T", "json"}
	for _, field := range fields {
		args = append(args, "-e", field)
	}
	cmd := exec.Command(Need(t), args...)
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	assert.MustBeTrue(t, err == nil, "tshark: %v: %s", err, says.String())
	var packets []struct {
		Source struct {
			Layers map[string][]string `json:"layers"`
		} `json:"_source"`
	}
	assert.Must(t, json.Unmarshal(out, &packets))
	for _, p := range packets {
		frames = append(frames, p.Source.Layers)
	}
	return frames
}

// First returns the first value of a field of a frame, "" where it has none.
func First(frame map[string][]string, field string) string {
	if len(frame[field]) == 0 {
		return ""
	}
	return frame[field][0]
}
