package explain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

const leaf = `name: leaf1
preset: roce
ports:
  p1: {speed: 1G, tagged: [10]}
  p2: {speed: 1G, tagged: [10], trust: dscp}
  p3: {speed: 1G}
  p4: {speed: 1G, flow_control: off}
fdb:
  - {mac: "02:00:00:00:00:02", vlan: 10, port: p2}
  - {mac: "02:00:00:00:00:03", vlan: 1, port: p3}
  - {mac: "02:00:00:00:00:04", ports: [p2, p3, p4]}
`

// given is a frame with no flags but its destination.
func given(dst string) Frame {
	return Frame{Dst: dst, VLAN: -1, PCP: -1, DSCP: -1, EtherType: -1, GSO: -1, Octets: 1514}
}

// A configuration alone decides where frames go and in which queue, by addresses, tags and DSCP.
func TestOffline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leaf1.yaml")
	assert.Must(t, os.WriteFile(file, []byte(leaf), 0o600))
	for _, test := range []struct {
		in, dst string
		change  func(*Frame)
		verdict string
		reason  string
		queue   uint8
		ports   string
		says    string
	}{
		{"p1", "02:00:00:00:00:02", func(f *Frame) { f.VLAN, f.PCP = 10, 3 }, "forwarded", "", 3, "p2",
			"a static entry has the destination behind p2"},
		{"p3", "02:00:00:00:00:04", func(f *Frame) { f.PCP = 3 }, "forwarded", "", 3, "p2",
			"behind p2, p3, p4: a frame takes one by its flow, and this one p2, of 2 that it could leave by"},
		{"p1", "02:00:00:00:00:03", func(f *Frame) { f.DSCP = 26 }, "forwarded", "", 0, "p3",
			"trust pcp, but there is no tag: the default priority 0"},
		{"p2", "02:00:00:00:00:03", func(f *Frame) { f.DSCP = 26 }, "forwarded", "", 3, "p3",
			"DSCP 26 is priority 3, which is lossless"},
		{"p1", "02:00:00:00:00:02", func(f *Frame) { f.VLAN, f.PCP = 20, 3 }, "dropped", "filtered", 0, "",
			"p1 is no member (pvid 1)"},
		{"p1", "ff:ff:ff:ff:ff:ff", func(f *Frame) { f.PCP = 3 }, "flooded", "", 0, "p2 p3 p4",
			"through the lossy pool and queue 0"},
		{"p1", "01:80:c2:00:00:01", func(f *Frame) { f.EtherType = 0x8808 }, "taken", "", 0, "", "never forwarded"},
		{"p1", "01:80:c2:00:00:03", func(f *Frame) { f.EtherType = 0x888E }, "dropped", "filtered", 0, "",
			"802.1Q table 8-1"},
		{"p3", "02:00:00:00:00:03", func(*Frame) {}, "dropped", "same-port", 0, "",
			"behind the port that the frame came by"},
		{"p1", "02:00:00:00:00:03", func(f *Frame) { f.Octets = 9000 }, "dropped", "oversize", 0, "",
			"9000 octets are more than the 1514"},
		{"p1", "02:00:00:00:00:03", func(f *Frame) { f.Octets, f.GSO = 60_000, 1448 }, "forwarded", "", 0, "p3",
			"cut into 42 frames"},
		{"p4", "02:00:00:00:00:03", func(f *Frame) { f.PCP = 3 }, "forwarded", "", 3, "p3", "flow control is off"},
	} {
		f := given(test.dst)
		test.change(&f)
		q := assert.Got(f.Request(test.in)).Must(t)
		e := assert.Got(Offline(file, []api.TraceRequest{q, q})).Must(t)
		got := e.Frames[0]
		var ports []string
		for _, c := range got.Copies {
			ports = append(ports, c.Port)
			assert.True(t, got.Verdict == "dropped" || c.Queue == test.queue,
				"%s → %s: queue %d, want %d", test.in, test.dst, c.Queue, test.queue)
		}
		reason := ""
		if got.Reason != nil && got.Verdict != "taken" {
			reason = *got.Reason
		}
		if got.Verdict != test.verdict || reason != test.reason ||
			test.ports != "" && strings.Join(ports, " ") != test.ports || !strings.Contains(e.Text(), test.says) {
			t.Errorf("%s → %s: %s (%s) by %v, want %s (%s) by %s, and %q in\n%s", test.in, test.dst, got.Verdict,
				reason, ports, test.verdict, test.reason, test.ports, test.says, e.Text())
		}
	}
	f := given("02:00:00:00:00:02")
	q, err := f.Request("p9")
	assert.Must(t, err)
	_, err = Offline(file, []api.TraceRequest{q})
	assert.Fails(t, err, "it has p1, p2, p3, p4", "a port that does not exist")
	_, err = Running(context.Background(), "/no/such.sock", []api.TraceRequest{q})
	assert.True(t, err != nil, "no switch answers, and there is no error")
}

// Numbers out of range, and flags that contradict each other, are refused.
func TestCraftRefuses(t *testing.T) {
	for want, change := range map[string]func(*Frame){
		"--vlan 4095":        func(f *Frame) { f.VLAN = 4095 },
		"--pcp 8":            func(f *Frame) { f.PCP = 8 },
		"--dscp 64":          func(f *Frame) { f.DSCP = 64 },
		"--octets 65551":     func(f *Frame) { f.Octets = 65551 },
		"--octets 60":        func(f *Frame) { f.Octets = 60 },
		"--octets 17":        func(f *Frame) { f.Octets, f.EtherType = 17, 1 },
		"--octets -1":        func(f *Frame) { f.Octets = -1 },
		"--octets -2":        func(f *Frame) { f.Octets, f.EtherType = -2, 1 },
		"--gso 7":            func(f *Frame) { f.GSO = 7 },
		"--gso 65536":        func(f *Frame) { f.GSO = 65536 },
		"--type is for":      func(f *Frame) { f.EtherType, f.DSCP = 1, 1 },
		"--dst is missing":   func(f *Frame) { f.Dst = "" },
		"not a MAC address":  func(f *Frame) { f.Dst = "x" },
		"y: not a MAC addre": func(f *Frame) { f.Src = "y" },
	} {
		f := given("02:00:00:00:00:02")
		change(&f)
		_, err := f.Request("p1")
		assert.Fails(t, err, want, "error")
	}
}

// Frames of pcap files of both byte orders are read unchanged.
func TestReadCapture(t *testing.T) {
	frames := [][]byte{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, bytes.Repeat([]byte{9}, 61)}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		file := classic(order, 1, frames...)
		for most, want := range map[int]int{1: 1, 2: 2, 9: 2} {
			got, err := ReadCapture(bytes.NewReader(file), most)
			assert.True(t, err == nil && len(got) == want && bytes.Equal(got[0], frames[0]),
				"%v, at most %d: %x, %v", order, most, got, err)
		}
		_, err := ReadCapture(bytes.NewReader(file[:len(file)-1]), 9)
		assert.True(t, errors.Is(err, ErrNotCapture), "cut short: %v", err)
		_, err = ReadCapture(bytes.NewReader(classic(order, 113)), 9)
		assert.True(t, errors.Is(err, ErrNotCapture), "link type 113: %v", err)
	}
	for _, b := range [][]byte{nil, []byte("no capture at all")} {
		_, err := ReadCapture(bytes.NewReader(b), 1)
		assert.True(t, errors.Is(err, ErrNotCapture), "%q: %v", b, err)
	}
}

// A frame that was captured in part has the length that it had, with zeros for the rest. One that is longer than any
// port carries is refused, whatever was captured of it.
func TestReadCutCapture(t *testing.T) {
	data := bytes.Repeat([]byte{9}, 60)
	for _, test := range []struct {
		original uint32
		octets   int // 0: refused
	}{{60, 60}, {61, 61}, {1514, 1514}, {maxFrame, maxFrame}, {maxFrame + 1, 0}, {1<<32 - 1, 0}} {
		cut := classic(binary.BigEndian, 1, data)
		binary.BigEndian.PutUint32(cut[24+12:], test.original)
		for name, file := range map[string][]byte{"pcap": cut,
			"enhanced": section(blockEnhanced, []uint32{0, 0, 1, 60, test.original}, data),
			"simple":   section(blockSimple, []uint32{test.original}, data)} {
			got, err := ReadCapture(bytes.NewReader(file), 9)
			if test.octets == 0 {
				assert.True(t, errors.Is(err, ErrNotCapture),
					"%s, %d octets: %d frames, %v", name, test.original, len(got), err)
				continue
			}
			want := append(bytes.Clone(data), make([]byte, test.octets-60)...)
			assert.True(t, err == nil && len(got) == 1 && bytes.Equal(got[0], want),
				"%s, %d octets: %x, %v", name, test.original, got, err)
		}
	}
	cut := classic(binary.LittleEndian, 1, data)
	binary.LittleEndian.PutUint32(cut[24+12:], 0)
	got, err := ReadCapture(bytes.NewReader(cut), 9)
	assert.True(t, err == nil && bytes.Equal(got[0], data), "a file without original lengths: %x, %v", got, err)
}

// Frames that were captured in part have many more octets together than their file, and a bound.
func TestReadCaptureIsBounded(t *testing.T) {
	const octets = MaxCaptured/1024 - 1
	pcap := classic(binary.BigEndian, 1, []byte{1})
	binary.BigEndian.PutUint32(pcap[24+12:], octets)
	ng := section(blockSimple, []uint32{octets}, []byte{1, 0, 0, 0})
	link := len(section(blockSimple, nil, nil)) - 12
	for name, file := range map[string][2][]byte{"pcap": {pcap[:24], pcap[24:]}, "pcapng": {ng[:link], ng[link:]}} {
		for n, fits := range map[int]bool{1024: true, 1025: false} {
			all, err := ReadCapture(bytes.NewReader(slices.Concat(file[0], bytes.Repeat(file[1], n))), 1<<20)
			assert.True(t, (!fits || (err == nil && len(all) == n)) && (fits || (err != nil &&
				!errors.Is(err, ErrNotCapture))), "%s, %d frames of %d octets: %d, %v", name, n, octets, len(all), err)
		}
	}
}

// section writes a pcapng section with an Ethernet interface and one block of these words and octets.
func section(kind uint32, words []uint32, data []byte) (b []byte) {
	block := func(kind uint32, body []byte) {
		length := uint32(12 + len(body))
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, kind), length)
		b = binary.LittleEndian.AppendUint32(append(b, body...), length)
	}
	block(blockSection, []byte{0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255})
	block(blockLink, []byte{linkEthernet, 0, 0, 0, 60, 0, 0, 0})
	var body []byte
	for _, w := range words {
		body = binary.LittleEndian.AppendUint32(body, w)
	}
	block(kind, append(body, data...))
	return b
}

// classic writes a pcap file.
func classic(order binary.AppendByteOrder, link uint32, frames ...[]byte) []byte {
	b := order.AppendUint32(nil, pcapMicro)
	b = order.AppendUint16(order.AppendUint16(b, 2), 4)
	b = order.AppendUint32(order.AppendUint32(order.AppendUint32(order.AppendUint32(b, 0), 0), 65535), link)
	for _, f := range frames {
		b = order.AppendUint32(order.AppendUint32(b, 1), 2)
		b = order.AppendUint32(order.AppendUint32(b, uint32(len(f))), uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

// Frames have their times, in whatever unit the file counts.
func TestCaptureTimes(t *testing.T) {
	nano := classic(binary.LittleEndian, 1, []byte{1})
	binary.LittleEndian.PutUint32(nano, pcapNano)
	for name, tt := range map[string]struct {
		file []byte
		want int64
	}{
		"pcap":      {classic(binary.BigEndian, 1, []byte{1}), 1_000_002_000},
		"pcap, ns":  {nano, 1_000_000_002},
		"pcapng":    {pcapng(t), 1_000_000_000},
		"pcapng µs": {section(blockEnhanced, []uint32{0, 1, 5, 0, 0}, nil), (1<<32 + 5) * 1000},
	} {
		c := assert.Got(NewCapture(bytes.NewReader(tt.file))).Must(t)
		_, at, err := c.Next()
		assert.True(t, err == nil && at == tt.want, "%s: %d, want %d (%v)", name, at, tt.want, err)
	}
	for resolution, want := range map[uint8]int64{0: 3e9, 6: 3000, 9: 3, 12: 0, 0x80: 3e9, 0x81: 15e8, 0xff: 0} {
		assert.Equal(t, nsOf(3, resolution), want, "ns of 3 units of resolution %#x", resolution)
	}
	assert.Equal(t, nsOf(7<<40|1<<39, 0x80|40), 7_500_000_000, "ns of seven and a half seconds")
}

func TestReadHex(t *testing.T) {
	got, err := ReadHex(strings.NewReader("# a comment\n\n01:02 03\nff\nxx\n"), 2)
	assert.True(t, err == nil && len(got) == 2 && bytes.Equal(got[0], []byte{1, 2, 3}) &&
		bytes.Equal(got[1], []byte{255}), "%x, %v", got, err)
	for text, want := range map[string]string{"zz": "line 1", "\n\n0": "line 3",
		strings.Repeat("00", maxFrame+1): "at most"} {
		_, err := ReadHex(strings.NewReader(text), 9)
		assert.Fails(t, err, want, "%.10q", text)
	}
}

// No frame of any file is longer than a port carries, and there are no more than asked for.
func FuzzReadCapture(f *testing.F) {
	f.Add(classic(binary.LittleEndian, 1, []byte{1, 2, 3}))
	f.Add(classic(binary.BigEndian, 1, []byte{1, 2, 3}))
	f.Add(pcapng(f))
	buffer := bufio.NewReaderSize(nil, 64<<10) // else each call makes one
	f.Fuzz(func(t *testing.T, b []byte) {
		buffer.Reset(bytes.NewReader(b))
		for _, read := range []func() ([][]byte, error){
			func() ([][]byte, error) { return ReadCapture(buffer, 3) },
			func() ([][]byte, error) { return ReadHex(bytes.NewReader(b), 3) },
		} {
			frames, err := read()
			if err != nil {
				continue
			}
			assert.True(t, len(frames) <= 3, "%d frames", len(frames))
			for _, b := range frames {
				assert.True(t, len(b) <= maxFrame, "a frame of %d octets", len(b))
			}
		}
	})
}

func TestReadPcapng(t *testing.T) {
	got, err := ReadCapture(bytes.NewReader(pcapng(t)), 9)
	assert.True(t, err == nil && len(got) == 2 && len(got[0]) == 60 && len(got[1]) == 61 && got[1][0] == 7,
		"%x, %v", got, err)
}

// pcapng writes a file by another implementation.
func pcapng(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, layers.LinkTypeEthernet)
	for _, data := range [][]byte{make([]byte, 60), bytes.Repeat([]byte{7}, 61)} {
		if err == nil {
			err = w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(data),
				Length: len(data)}, data)
		}
	}
	if err == nil {
		err = w.Flush()
	}
	assert.Must(t, err)
	return b.Bytes()
}
