package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// freeze stops every thread of a process.
func freeze(t *testing.T, p *lab.Process) {
	t.Helper()
	must(t, syscall.Kill(p.Pid(), syscall.SIGSTOP))
	eventually(t, "all threads of the switch are stopped", func() bool { return stopped(t, p.Pid()) })
}

func stopped(t *testing.T, pid int) bool {
	t.Helper()
	stats := assert.Got(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))).Must(t)
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		// PID (name) state …, and the name may hold anything.
		if text := string(b); !strings.HasPrefix(text[strings.LastIndex(text, ")")+1:], " T") {
			return false
		}
	}
	return len(stats) > 0
}

func thaw(t *testing.T, p *lab.Process) {
	t.Helper()
	must(t, syscall.Kill(p.Pid(), syscall.SIGCONT))
}

// However late a thread runs, after XOFF has arrived it hands over no more than one send call; what is in a delay line
// left the port already: at most what its shaper lets through in that time.
func TestStoppedThread(t *testing.T) {
	const frame = 1518
	for _, tt := range []struct {
		name  string
		keys  string
		speed int64
		after int // frames that may still come
	}{
		{"a call is a frame", At100M, 100e6, 1},
		{"a call is 50 µs", "speed: 1G, ring: {outage: 400ms, max: 64MiB}", 1e9, 50_000 / 8 / (frame + 24)},
		{"with a delay line of 1 ms", "speed: 1G, ring: {outage: 400ms, max: 64MiB}, delay: 1ms, burst: 62500B", 1e9,
			(1_000_000/8+62_500+50_000/8)/(frame+24) + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRig(t, 3)
			p := r.StartProcess(Setup{Keys: Lossless3, Each: tt.keys})
			// Two senders keep the queue of p2 full, so that there is always something to send.
			_, h2, _, end := r.Incast(macctl.ModePFC, tt.speed)
			for round := range 8 {
				before := h2.Tally(1, 3).Frames + h2.Tally(3, 3).Frames
				eventually(t, "a backlog has grown",
					func() bool { return h2.Tally(1, 3).Frames+h2.Tally(3, 3).Frames > before+100 })
				freeze(t, p)
				time.Sleep(5 * time.Millisecond) // what the kernel has taken arrives
				xoff := time.Now()
				h2.PFC(1<<3, 0xffff)
				until := xoff.Add(time.Duration(macctl.QuantaDuration(0xffff, tt.speed)))
				time.Sleep(2 * time.Millisecond) // XOFF arrives
				thaw(t, p)
				time.Sleep(15 * time.Millisecond)
				n := h2.count(1, 3, xoff, until) + h2.count(3, 3, xoff, until)
				t.Logf("round %d: %d frames after XOFF", round, n)
				assert.True(t, n <= tt.after,
					"round %d: %d frames came after XOFF, want at most %d", round, n, tt.after)
				h2.PFC(1<<3, 0)
			}
			end()
			must(t, p.Stop(syscall.SIGTERM, Timeout))
		})
	}
}

// A killed switch leaves its peers paused for no longer than a pause lasts, and nothing behind that keeps the next one
// from going on: it forwards, and loses nothing that is lossless. What lay in the buffer and the rings is gone, and
// what was sent while there was no switch. Programs in the kernel, which hold the peers of a killed switch for longer
// where this machine has a place for them, are off. How soon the next one forwards is tested in package packaging.
func TestKillAndRestart(t *testing.T) {
	r := NewRig(t, 3)
	s := Setup{Keys: SmallBuffers + "assist: off\n", Each: At100M}
	p := r.StartProcess(s)
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3}), h3.Send(Stream{To: 2, Prio: 3})
	eventually(t, "both senders are held now and then",
		func() bool { return h1.Controls.Load() > 2 && h3.Controls.Load() > 2 })
	eventually(t, "a sender is held", func() bool { return h1.Paused.Load()+h3.Paused.Load() > 0 })

	sent := func() uint64 { return h1.Sent[3].Load() + h3.Sent[3].Load() }
	sentBefore := sent()
	must(t, p.Stop(syscall.SIGKILL, Timeout))
	dead := clock()
	eventually(t, "the senders are free", func() bool { return h1.Paused.Load()+h3.Paused.Load() == 0 })
	for _, h := range []*Station{h1, h3} {
		h.resumesInTime(dead)
	}
	link := IP(t, r.Node, "-d", "link", "show", "p1")
	assert.True(t, strings.Contains(link, "promiscuity 0") && strings.Contains(link, ",UP,"),
		"after SIGKILL p1 is not as it was: %s", link)

	launched := time.Now()
	p = r.StartProcess(s)
	eventually(t, "frames arrive again", func() bool { return len(h2.Arrivals(launched)) > 0 })
	gap := func(from int) uint64 { a := h2.Tally(from, 3); return a.Next - a.Frames }
	eventually(t, "both senders are through again", func() bool {
		return h2.count(1, 3, launched, time.Now()) > 100 && h2.count(3, 3, launched, time.Now()) > 100
	})
	before := gap(1) + gap(3)
	c := r.Parse(s)
	inSwitch := uint64(c.Buffer.Lossless.Size/1518 + 2*c.Ports[0].LosslessSlots())
	most := sent() - sentBefore + inSwitch
	assert.True(t, before <= most, "%d frames are gone, want at most %d", before, most)
	time.Sleep(500 * time.Millisecond)
	stop1()
	stop3()
	eventually(t, "the last frames arrive", func() bool {
		return h2.Tally(1, 3).Next == h1.Sent[3].Load() && h2.Tally(3, 3).Next == h3.Sent[3].Load()
	})
	after := gap(1) + gap(3)
	assert.True(t, after == before, "the restarted switch lost %d lossless frames", after-before)
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}

// resumesInTime fails the test unless the station's own pause timers, at 100 Mbit/s, end within one pause of the newest
// XOFF, and no XOFF came after the switch was dead.
func (s *Station) resumesInTime(dead int64) {
	s.t.Helper()
	xoff, free := s.XoffAt.Load(), s.FreeAt.Load()
	pause := macctl.QuantaDuration(0xffff, 100e6)
	s.t.Logf("h%d: XOFF came %v before the switch was dead, the pause ended after %v (one pause is %v)", s.N,
		time.Duration(dead-xoff), time.Duration(free-xoff), time.Duration(pause))
	assert.True(s.t, xoff != 0 && xoff <= dead && free > xoff && free-xoff <= pause,
		"h%d is paused %v after the switch's death, until %v after its XOFF, want at most %v", s.N,
		time.Duration(xoff-dead), time.Duration(free-xoff), time.Duration(pause))
}

// The switch takes IPv6 link-local addresses off its ports and gives them back when it ends. Where it was killed, the
// next one makes it possible to have them again.
func TestLinkLocalAddresses(t *testing.T) {
	r := NewRig(t, 1)
	must(t, r.Node.Do(func() error {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/p1/disable_ipv6", []byte("0"), 0)
		if os.IsNotExist(err) {
			t.Skip("this kernel has no IPv6, so there are no addresses to take away")
		}
		return err
	}))
	address := func() string {
		for _, word := range strings.Fields(IP(t, r.Node, "-6", "address", "show", "dev", "p1")) {
			if strings.HasPrefix(word, "fe80::") {
				return word
			}
		}
		return ""
	}
	flap := func() {
		must(t, r.Node.LinkDown("p1"))
		must(t, r.Node.LinkUp("p1"))
	}
	eventually(t, "the kernel has made an address", func() bool { return address() != "" })
	before := address()

	p := r.StartProcess(Setup{})
	assert.Equal(t, address(), "", "a port has the address")
	flap()
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, address(), "", "a port that flapped has the address")
	must(t, p.Stop(syscall.SIGTERM, Timeout))
	assert.Equal(t, address(), before, "address of p1 after the switch")

	p = r.StartProcess(Setup{})
	must(t, p.Stop(syscall.SIGKILL, Timeout))
	p = r.StartProcess(Setup{})
	must(t, p.Stop(syscall.SIGTERM, Timeout))
	flap()
	eventually(t, "the address is back after SIGKILL, a restart and a flap", func() bool { return address() == before })

	IP(t, r.Node, "link", "set", "p1", "addrgenmode", "random")
	p = r.StartProcess(Setup{})
	must(t, p.Stop(syscall.SIGTERM, Timeout))
	assert.Contains(t, IP(t, r.Node, "-d", "link", "show", "p1"), "addrgenmode random",
		"the switch has not restored the mode random")
}
