package packaging

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"pfcswitch/cmd/internal/lab/tshark"
	"pfcswitch/dataplane/assert"
)

// profileFrames are XOFF and XON of priority 3, PAUSE, and a frame of priority 3 with a reason for its drop.
var profileFrames = []struct{ hex, comment, columns, rule string }{
	{"0180c2000001020000000001 8808 0101 0008 000000000000ffff0000000000000000",
		"XOFF 3: buffer, ingress queue holds 9 B", "|0x0008|0,0,0,65535,0,0,0,0|XOFF 3: buffer", "XOFF"},
	{"0180c2000001020000000001 8808 0101 0008 00000000000000000000000000000000", "",
		"|0x0008|0,0,0,0,0,0,0,0||", "XON"},
	{"0180c2000001020000000001 8808 0001 ffff", "", "|60|||65535||", "XOFF"},
	{"020000000002020000000001 8100 6001 88b5", "dropped: lossy-threshold",
		"|3|||dropped: lossy-threshold|", "dropped"},
}

// Wireshark loads the profile: columns for priority, XOFF or XON, and reasons, and a rule of colour for each kind.
func TestWiresharkProfile(t *testing.T) {
	path := tshark.Need(t)
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "profiles"), os.DirFS(filepath.Join(root, "scripts/wireshark"))))
	plain, commented := filepath.Join(dir, "plain.pcap"), filepath.Join(dir, "commented.pcapng")
	f := assert.Got(os.Create(plain)).Must(t)
	w := pcapgo.NewWriter(f)
	must(t, w.WriteFileHeader(65536, layers.LinkTypeEthernet))
	var comments []string
	for _, frame := range profileFrames {
		b := assert.Got(hex.DecodeString(strings.ReplaceAll(frame.hex, " ", ""))).Must(t)
		b = append(b, make([]byte, 60-len(b))...)
		must(t, w.WritePacket(gopacket.CaptureInfo{CaptureLength: len(b), Length: len(b)}, b))
	}
	must(t, f.Close())
	for i, frame := range profileFrames {
		if frame.comment != "" {
			comments = append(comments, "-a", string(rune('1'+i))+":"+frame.comment)
		}
	}
	out, err := exec.Command("editcap", append(comments, plain, commented)...).CombinedOutput()
	assert.MustBeTrue(t, err == nil, "editcap: %v\n%s", err, out)
	read := func(flags ...string) []string {
		cmd := exec.Command(path, append([]string{"-n", "-C", "pfcswitch", "-r", commented}, flags...)...)
		cmd.Env = append(os.Environ(), "WIRESHARK_CONFIG_DIR="+dir)
		var said strings.Builder
		cmd.Stderr = &said
		out := assert.Got(cmd.Output()).Must(t)
		for line := range strings.Lines(said.String()) {
			assert.True(t, strings.HasPrefix(line, "Running as user") || strings.TrimSpace(line) == "",
				"tshark says: %s", line)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	rows, rules := read("-T", "tabs"), read("--color", "-T", "fields", "-e", "frame.coloring_rule.name")
	for i, frame := range profileFrames {
		assert.Contains(t, strings.ReplaceAll(rows[i], "\t", "|"), frame.columns, "row %d", i+1)
		assert.Equal(t, rules[i], frame.rule, "rule that colours row %d", i+1)
	}
}
