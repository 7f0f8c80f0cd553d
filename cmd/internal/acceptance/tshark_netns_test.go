package acceptance

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"pfcswitch/cmd/internal/lab/tshark"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// Another implementation reads what the switch sends: XOFF, its refresh, XON.
func TestTsharkDecodes(t *testing.T) {
	tshark.Need(t)
	for _, tt := range []struct {
		mode   macctl.Mode
		opcode string
		decode func(l map[string][]string) (vector string, quanta string)
	}{
		{macctl.ModePFC, "0x0101", func(l map[string][]string) (string, string) {
			return tshark.First(l, "macc.cbfc.enbv"), tshark.First(l, "macc.cbfc.pause_time.c3")
		}},
		{macctl.ModePause, "0x0001", func(l map[string][]string) (string, string) {
			return "",
				tshark.First(l, "macc.pause_time")
		}},
	} {
		t.Run(tt.mode.String(), func(t *testing.T) {
			r := Start(t, 2, Setup{Keys: SmallBuffers + "pause: {quanta: 20000}", Each: At100M + flow(tt.mode)})
			frames := tshark.Fields(t, r.provoke(tt.mode), "frame.len", "eth.dst", "eth.src", "macc.opcode",
				"macc.pause_time", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "_ws.expert.message")
			var seen []string
			for i, l := range frames {
				assert.Equal(t, tshark.First(l, "macc.opcode"), tt.opcode, "frame %d has opcode", i)
				assert.Equal(t, tshark.First(l, "eth.dst"), "01:80:c2:00:00:01", "frame %d goes to", i)
				if got := tshark.First(l, "eth.src"); got != PortMAC(1).String() {
					t.Errorf("frame %d comes from %s, want the port's address %s", i, got, PortMAC(1))
				}
				assert.Equal(t, tshark.First(l, "frame.len"), "60", "octets of frame %d", i)
				expert := l["_ws.expert.message"]
				assert.True(t, expert == nil, "tshark warns of frame %d: %v", i, expert)
				vector, quanta := tt.decode(l)
				assert.True(t, tt.mode != macctl.ModePFC || vector == "0x0008",
					"frame %d enables %s, want priority 3 alone", i, vector)
				seen = append(seen, quanta)
			}
			assert.True(t, len(seen) >= 3 && seen[0] == "20000" && seen[len(seen)-1] == "0",
				"pause times %v, want XOFF with 20000, at least one refresh, and XON", seen)
		})
	}
}

// provoke makes the switch hold host 1 for longer than one pause, and writes what host 1 hears to a file.
func (r *Rig) provoke(mode macctl.Mode) (path string) {
	r.T.Helper()
	h1, h2 := r.Station(1, mode, 100e6), r.Station(2, mode, 100e6)
	s := r.Socket(1)
	h2.pause(0xffff)
	stop := h1.Send(Stream{To: 2, Prio: 3})
	eventually(r.T, "host 1 was told to stop, and told again", func() bool {
		h2.pause(0xffff)
		return h1.Controls.Load() >= 2 && r.Snapshot(1).XoffWanted != 0 // not XOFF and XON, for its ring
	})
	stop()
	h2.pause(0)
	h2.Whole(h1, 3)
	eventually(r.T, "host 1 is free", func() bool { return r.Snapshot(1).XoffWanted == 0 })
	return recorded(r.T, s, filepath.Join(r.Dir, "control.pcap"))
}

// recorded writes the MAC Control frames that a socket holds to a file.
func recorded(t *testing.T, s *porttest.Socket, path string) string {
	t.Helper()
	f := assert.Got(os.Create(path)).Must(t)
	defer f.Close()
	w := pcapgo.NewWriter(f)
	must(t, w.WriteFileHeader(65536, layers.LinkTypeEthernet))
	for {
		p, err := s.Receive(100 * time.Millisecond)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return path
		}
		must(t, err)
		if len(p.Data) < 14 || p.Data[12] != 0x88 || p.Data[13] != 0x08 {
			continue
		}
		must(t, w.WritePacket(gopacket.CaptureInfo{Timestamp: p.Stamp, CaptureLength: len(p.Data), Length: len(p.Data)},
			p.Data))
	}
}
