package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pfcswitch/cmd/internal/explain"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// pcapOf is a capture file of frames.
func pcapOf(frames ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0xA1B2C3D4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	for _, f := range frames {
		b = append(b, make([]byte, 8)...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	return b
}

// taggedFrame is a frame of a priority, whose last octet is n.
func taggedFrame(priority, n byte) []byte {
	b := append(make([]byte, 12), 0x81, 0, priority<<5, 0, 8, 0)
	return append(append(b, make([]byte, 42)...), n)
}

// The frames of a capture become a flow for each priority, without those of MAC Control.
func TestReplayReads(t *testing.T) {
	control := append(make([]byte, 12), 0x88, 8, 1, 1)
	plain := append(append(make([]byte, 12), 8, 0), 9)
	replayOf := func(file []byte) (flows []traffic.Flow, frames, left uint64, err error) {
		var c traffic.SendConfig
		frames, left, err = c.Replay(func() (traffic.Capture, error) {
			return explain.NewCapture(beginning(bytes.NewReader(file)))
		}, false)
		return c.Flows, frames, left, err
	}
	flows, frames, left, err := replayOf(pcapOf(taggedFrame(3, 1), control, plain, taggedFrame(3, 2)))
	assert.Must(t, err)
	assert.MustBeTrue(t, frames == 3 && left == 1 && len(flows) == 2 && flows[0].Priority == 0 &&
		flows[1].Priority == 3, "%d frames, %d left out, flows %+v", frames, left, flows)
	_, frames, _, err = replayOf(pcapOf(slices.Repeat([][]byte{make([]byte, 60_000)}, 2000)...))
	assert.True(t, frames == 2000 && err == nil, "of 120 MB: %d frames, %v", frames, err)
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing but control", pcapOf(control), "no frame to send"},
		{"no capture", []byte("text"), "not a capture"},
		{"half a tag", pcapOf(append(make([]byte, 12), 0x81, 0)), "none of Ethernet"},
	} {
		_, _, _, err := replayOf(tt.file)
		assert.Fails(t, err, tt.want, "%s", tt.name)
	}
}

// A moment is one of today, or of a date, and has not passed.
func TestMomentOf(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.FixedZone("here", 7200))
	for text, want := range map[string]time.Time{"12:00:01": now.Add(time.Second),
		"12:00:00.25": now.Add(250 * time.Millisecond), "2026-05-06T10:01:00Z": now.Add(time.Minute)} {
		got, err := momentOf(text, now)
		assert.True(t, err == nil && got.Equal(want), "%s: %v, %v, want %v", text, got, err, want)
	}
	for text, want := range map[string]string{"11:59:59": "has passed: it is 12:00:00", "noon": "write 15:04:05",
		"2025-01-01T00:00:00Z": "has passed"} {
		_, err := momentOf(text, now)
		assert.Fails(t, err, want, "%s", text)
	}
}

// The keys of a flow's shape, and what flags exclude.
func TestShapeFlags(t *testing.T) {
	flows := assert.Got(parseFlows([]string{"3:on=10ms,off=40ms", "0:rate=1M,arrivals=poisson"})).Must(t)
	assert.True(t, flows[0].On == 10*time.Millisecond && flows[0].Off == 40*time.Millisecond && flows[1].Poisson &&
		flows[1].Rate == 1e6, "%+v", flows)
	file := filepath.Join(t.TempDir(), "a.pcap")
	assert.Must(t, os.WriteFile(file, pcapOf(taggedFrame(3, 1)), 0o600))
	pipe, filled, err := os.Pipe()
	assert.Must(t, err)
	t.Cleanup(func() { _, _ = pipe.Close(), filled.Close() })
	for args, want := range map[string]string{
		fmt.Sprintf(" --pcap /dev/fd/%d", pipe.Fd()):                "write what a pipe has to a file first",
		" --flow 3:arrivals=even --seconds 1":                       "arrivals=even: they are poisson",
		" --flow 3:on=1 --seconds 1":                                "--flow 3:on=1: time: missing unit",
		" --flow 3:rate=1M,arrivals=poisson --cc dcqcn --seconds 1": "arrivals at random and DCQCN exclude",
		" --flow 3:on=1s --seconds 1":                               "give both",
		" --at noon --seconds 1":                                    "--at noon: write 15:04:05",
		" --at 23:59:59.9 --start 1 --seconds 1":                    "exclude each other",
		" --storm 3 --at noon --seconds 1":                          "--at noon: write 15:04:05",
		" --flow 3 --pcap " + file:                                  "--pcap and --flow exclude each other",
		" --storm 3 --pcap " + file:                                 "--pcap and --storm exclude each other",
		" --to 02:00:00:00:00:01 --pcap " + file:                    "--pcap and --to exclude each other",
		" --vlan 5 --pcap " + file:                                  "--pcap and --vlan exclude each other",
		" --untagged --pcap " + file:                                "--pcap and --untagged exclude each other",
		" --dscp 5 --pcap " + file:                                  "--pcap and --dscp exclude each other",
		" --ecn --pcap " + file:                                     "--pcap and --ecn exclude each other",
		" --cc dcqcn --pcap " + file:                                "--pcap and --cc exclude each other",
		" --pcap /no/such.pcap":                                     "--pcap: open /no/such.pcap",
		" --timed --seconds 1":                                      "--timed: that is for the frames of --pcap",
		" --pcap " + file:                                           "does not exist",
		" --flow 3:rate=1M,arrivals=poisson --count 1":              "does not exist",
	} {
		wantRefused(t, sendCommand, map[string]string{noInterface + args: want})
	}
}
