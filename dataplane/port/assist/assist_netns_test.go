package assist_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
	"pfcswitch/dataplane/port/porttest"
)

// A bench is two ports p0 and p1 in one namespace, each with a host at its far end, in a namespace of its own. ring is
// what the port's data ring would be: a packet socket with the filter.
type bench struct {
	t     *testing.T
	maps  *assist.Maps
	sw    string
	ports [2]*assist.Port
	index [2]int
	mac   [2][6]byte
	ring  [2]int
	host  [2]int // a packet socket at the far end
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t}
	maps, err := assist.Open()
	if errors.Is(err, assist.ErrNotAllowed) && os.Getuid() != 0 {
		t.Skip(err)
	}
	assert.Must(t, err)
	b.maps = maps
	t.Cleanup(func() { assert.Must(t, maps.Close()) })
	path, handle, _ := porttest.NewNamespace(t)
	b.sw = path
	for i := range b.ports {
		name, far := fmt.Sprintf("p%d", i), fmt.Sprintf("h%d", i)
		farPath, farHandle, farNS := porttest.NewNamespace(t)
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		v := netlink.NewVeth(attrs)
		v.PeerName, v.PeerNamespace = far, netlink.NsFd(int(farNS))
		assert.Must(t, handle.LinkAdd(v))
		for h, n := range map[*netlink.Handle]string{handle: name, farHandle: far} {
			l := assert.Got(h.LinkByName(n)).Must(t)
			_ = h.LinkSetIP6AddrGenMode(l, 1) // where there is no IPv6, all is well
			assert.Must(t, h.LinkSetUp(l))
		}
		l := assert.Got(handle.LinkByName(name)).Must(t)
		b.index[i] = l.Attrs().Index
		copy(b.mac[i][:], l.Attrs().HardwareAddr)
		fl := assert.Got(farHandle.LinkByName(far)).Must(t)
		b.ring[i] = packetSocket(t, path, b.index[i])
		b.host[i] = packetSocket(t, farPath, fl.Attrs().Index)
		assert.Must(t, port.InNetns(path, func() (err error) {
			b.ports[i], err = maps.Attach(i, b.index[i], "", "", 0)
			return err
		}))
		t.Cleanup(func() { assert.Must(t, b.ports[i].Close()) })
		assert.Must(t, unix.SetsockoptInt(b.ring[i], unix.SOL_SOCKET, unix.SO_ATTACH_BPF, b.ports[i].Filter()))
		t.Cleanup(func() { assert.Must(t, unix.SetsockoptInt(b.ring[i], unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)) })
	}
	return b
}

func packetSocket(t *testing.T, ns string, index int) (fd int) {
	t.Helper()
	assert.Must(t, port.InNetns(ns, func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		return err
	}))
	t.Cleanup(func() { _ = unix.Close(fd) })
	assert.Must(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1))
	assert.Must(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1))
	assert.Must(t, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: index,
		Protocol: binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL})}))
	return fd
}

// station returns the address of the host behind port i.
func station(i int) [6]byte { return [6]byte{2, 0, 0, 0, 0, byte(i + 1)} }

// craft returns a frame between two hosts, with a tag where tci is not assist.Untagged.
func craft(from, to int, tci uint16, octets int) []byte {
	dst, src := station(to), station(from)
	b := append(dst[:], src[:]...)
	if tci != assist.Untagged {
		b = append(b, 0x81, 0, byte(tci>>8), byte(tci))
	}
	b = append(b, 0x88, 0xB6)
	return append(b, bytes.Repeat([]byte{0xA5}, octets-len(b))...)
}

func (b *bench) send(from int, frame []byte) {
	b.t.Helper()
	assert.Must(b.t, unix.Send(b.host[from], frame, 0))
}

// read returns the frames that wait at a socket, with their tags in place.
func read(t *testing.T, fd int) (all [][]byte) {
	t.Helper()
	for {
		frame, oob := make([]byte, 70000), make([]byte, 256)
		n, m, _, _, err := unix.Recvmsg(fd, frame, oob, 0)
		if errors.Is(err, unix.EAGAIN) {
			return all
		}
		assert.Must(t, err)
		frame = frame[:n]
		messages := assert.Got(unix.ParseSocketControlMessage(oob[:m])).Must(t)
		for _, c := range messages {
			if status := binary.NativeEndian.Uint32(c.Data); status&unix.TP_STATUS_VLAN_VALID != 0 {
				tci := binary.NativeEndian.Uint16(c.Data[16:])
				frame = slices.Insert(frame, 12, 0x81, 0, byte(tci>>8), byte(tci))
			}
		}
		all = append(all, frame)
	}
}

// enter lets untagged frames from host 0 to host 1 take the fast path.
func (b *bench) enter(tci uint16, until int64) {
	b.t.Helper()
	f := assist.Flow{Dst: station(1), Src: station(0), TCI: tci, DSCP: assist.NoDSCP}
	assert.Must(b.t, b.ports[0].Enter(&f, &assist.Way{Out: 1, Index: b.index[1], Priority: 3, Limit: 1514, Until: until,
		Generation: b.maps.Generation()}, 0))
}

const never = int64(1) << 62

// open does what the switch does when nothing of the two ports waits.
func (b *bench) open() {
	b.ports[1].Gates()[3] = 1
	b.ports[0].Emptied(b.ports[0].Arrived())
}

// What the programs keep of the last frame holds for frames of the same flow only, and as long as its way does.
func TestWayOfTheLastFrame(t *testing.T) {
	b := newBench(t)
	b.maps.Forget()
	defer onOneCPU(t)() // each frame finds what the one before it has left
	way := craft(0, 1, 0x600A, 68)
	fast := func(frame []byte) bool {
		b.open()
		b.send(0, frame)
		ring, far := len(read(t, b.ring[0])), len(read(t, b.host[1]))
		assert.MustEqual(t, ring+far, 1, "one frame came %d times to the ring and %d times to the far end", ring, far)
		return far == 1
	}
	b.enter(0x600A, never)
	for name, other := range map[string][]byte{"tag": craft(0, 1, 0x400A, 68), "destination": craft(0, 2, 0x600A, 68),
		"source": craft(2, 1, 0x600A, 68)} {
		assert.True(t, fast(way) && !fast(other),
			"another %s: want the frame before it on the fast path, and this one in the ring", name)
	}
	fast(way)
	b.maps.Forget()
	assert.True(t, !fast(way), "a frame took the fast path that was forgotten")
	b.enter(0x600A, int64(5*time.Second)) // after Attach
	assert.True(t, fast(way), "a frame does not take the way that has just begun")
	for since := time.Now(); fast(way); time.Sleep(10 * time.Millisecond) {
		assert.MustBeTrue(t, time.Since(since) <= 20*time.Second, "a way in use does not end in its time")
	}
}

// Where a frame goes: to the ring, or to the far end.
func TestWhichFramesTakeTheFastPath(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame []byte
		set   func(b *bench)
		fast  bool
	}{
		{"all is well", craft(0, 1, assist.Untagged, 60), func(*bench) {}, true},
		{"the longest frame", craft(0, 1, assist.Untagged, 1514), func(*bench) {}, true},
		{"with a tag", craft(0, 1, 0x600A, 68), func(b *bench) { b.enter(0x600A, never) }, true},
		{"another tag", craft(0, 1, 0x400A, 68), func(b *bench) { b.enter(0x600A, never) }, false},
		{"another station", craft(0, 2, assist.Untagged, 60), func(*bench) {}, false},
		{"the gate is closed", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.ports[1].Gates()[3] = 0 }, false},
		{"a frame is in a ring", craft(0, 1, assist.Untagged, 60), func(b *bench) {
			b.send(0, craft(0, 2, assist.Untagged, 60))
			read(b.t, b.ring[0])
		}, false},
		{"suspended", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.ports[0].Suspend() }, false},
		{"decisions are forgotten", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.maps.Forget() }, false},
		{"the station is forgotten", craft(0, 1, assist.Untagged, 60), func(b *bench) {
			b.maps.Forget()
			b.enter(assist.Untagged, 1)
		}, false},
		{"PFC for another priority", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.pause(1, 1<<4, 1) }, true},
		{"PFC", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.pause(1, 1<<3, 1) }, false},
		{"XON", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.pause(1, 1<<3, 0) }, true},
		{"PFC from the sender", craft(0, 1, assist.Untagged, 60), func(b *bench) { b.pause(0, 1<<3, 1) }, true},
		{"PAUSE at a port with PFC", craft(0, 1, assist.Untagged, 60), func(b *bench) {
			b.send(1, control(b.mac[1], 0x0001, 0xffff))
		}, true},
		{"PAUSE", craft(0, 1, assist.Untagged, 60), func(b *bench) {
			b.ports[1].Configure(&assist.Settings{Pause: true})
			b.send(1, control(b.mac[1], 0x0001, 0xffff))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.ports[1].Configure(&assist.Settings{Lossless: 1 << 3, Obeyed: 1<<3 | 1<<4})
			b.maps.Forget()
			b.enter(assist.Untagged, never)
			b.open()
			tt.set(b)
			read(t, b.ring[0])
			read(t, b.host[1])
			b.send(0, tt.frame)
			ring, host := read(t, b.ring[0]), read(t, b.host[1])
			want := [2]int{1, 0}
			if tt.fast {
				want = [2]int{0, 1}
			}
			assert.MustEqual(t, [2]int{len(ring), len(host)}, want, "frames in the ring and at the far end")
			got := slices.Concat(ring, host)[0]
			assert.True(t, bytes.Equal(got, tt.frame), "got %x, want %x", got, tt.frame)
			counts := [2]assist.Count{b.maps.Counts(0)[3], b.maps.Counts(1)[3]}
			n, octets := uint64(len(host)), uint64(len(host)*len(tt.frame))
			taken := [2]assist.Count{{RxFrames: n, RxOctets: octets}, {TxFrames: n, TxOctets: octets}}
			assert.Equal(t, counts, taken, "counts")
		})
	}
}

func control(from [6]byte, words ...uint16) []byte {
	b := append([]byte{1, 0x80, 0xC2, 0, 0, 1}, from[:]...)
	for _, w := range append([]uint16{0x8808}, words...) {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return append(b, make([]byte, 60-len(b))...)
}

// pause sends PFC from the host behind port i.
func (b *bench) pause(i int, vector uint8, quanta uint16) {
	words := []uint16{0x0101, uint16(vector)}
	for range 8 {
		words = append(words, quanta)
	}
	b.send(i, control(station(i), words...))
}

// A peer whose lossless frames nobody looks for is held, and no other.
func TestHoldsWhileNobodyLooks(t *testing.T) {
	xoff := control([6]byte{2, 0, 0, 0, 0, 0x99}, 0x0101, 0x0008, 0, 0, 0, 0xffff)
	settings := assist.Settings{Freeze: 20 * time.Millisecond, Hold: time.Hour, Xoff: xoff, TrustPCP: true,
		LosslessPCP: 1 << 3}
	lossless, lossy := craft(0, 1, 0x600A, 300), craft(0, 1, 0x400A, 300)
	apart := func(first, second []byte) func(*bench) {
		return func(b *bench) { b.send(0, first); sleep(); b.send(0, second) }
	}
	small := craft(0, 1, 0x600A, 148)
	many := func(s *assist.Settings) { s.Freeze, s.Small, s.Most = time.Hour, 144, [2]int{4, 9} }
	times := func(n int, frame []byte) func(*bench) {
		return func(b *bench) {
			for range n {
				b.send(0, frame)
			}
		}
	}
	for _, tt := range []struct {
		name string
		set  func(*assist.Settings)
		send func(b *bench)
		held bool
	}{
		{"lossless frames", nil, apart(lossless, lossless), true},
		{"a first frame", nil, func(b *bench) { sleep(); b.send(0, lossless) }, false},
		{"lossy frames", nil, apart(lossy, lossy), false},
		{"a lossy frame after a lossless one", nil, apart(lossless, lossy), false},
		{"the switch has looked", nil, func(b *bench) {
			b.send(0, lossless)
			sleep()
			b.ports[0].Look()
			b.send(0, lossless)
		}, false},
		{"the switch has died", nil, func(b *bench) {
			assert.Must(b.t, unix.SetsockoptInt(b.ring[0], unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0))
			b.send(0, lossless)
			assert.Must(b.t, unix.SetsockoptInt(b.ring[0], unix.SOL_SOCKET, unix.SO_ATTACH_BPF, b.ports[0].Filter()))
		}, true},
		{"many frames", many, times(4, lossless), true},
		{"less than many", many, times(3, lossless), false},
		{"many small frames", many, times(9, small), true},
		{"less than many small ones, and others", many, func(b *bench) {
			times(8, small)(b)
			times(3, lossless)(b)
		}, false},
		{"many, and the switch looks", many, func(b *bench) {
			times(3, lossless)(b)
			b.ports[0].Look()
			times(3, lossless)(b)
		}, false},
		{"switched off", func(s *assist.Settings) { s.Freeze = 0 }, apart(lossless, lossless), false},
		{"nothing to send", func(s *assist.Settings) { s.Xoff = nil }, apart(lossless, lossless), false},
		{"for too long", func(s *assist.Settings) { s.Hold = time.Millisecond }, apart(lossless, lossless), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, s := newBench(t), settings
			if tt.set != nil {
				tt.set(&s)
			}
			b.ports[0].Configure(&s)
			tt.send(b)
			got := read(t, b.host[0])
			assert.MustEqual(t, len(got) > 0, tt.held, "held")
			assert.True(t, len(read(t, b.ring[0])) >= 1, "the ring got no frame")
			n, at := b.ports[0].TakeXoffs()
			assert.True(t, int(n) == len(got), "counted %d XOFF, sent %d", n, len(got))
			if tt.held {
				assert.Same(t, got[0], xoff, "sent")
				assert.True(t, at != 0 && !b.ports[0].Held() && b.ports[0].Settled(), "at %d, held %v, settled %v", at,
					b.ports[0].Held(), b.ports[0].Settled())
			}
		})
	}
}

// Frames that a program of somebody else takes before the switch's sees them are counted, and no others. The first is
// counted when the next one comes.
func TestMissedFrames(t *testing.T) {
	b := newBench(t)
	frame := craft(0, 1, assist.Untagged, 60)
	for range 3 {
		b.send(0, frame)
		b.send(0, control(station(0), 0x0101, 0))
	}
	assert.MustEqual(t, b.ports[0].Missed(), 0, "missed frames that the program saw")
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}}) // TCX_PASS
	assert.Must(t, err)
	assert.Must(t, port.InNetns(b.sw, func() error {
		l, err := link.AttachTCX(link.TCXOptions{Interface: b.index[0], Program: p, Anchor: link.Head(),
			Attach: ebpf.AttachTCXIngress})
		t.Cleanup(func() { assert.Must(t, errors.Join(l.Close(), p.Close())) })
		return err
	}))
	defer onOneCPU(t)() // steer and ingress share what each CPU has
	for range 3 {
		b.send(0, frame)
	}
	assert.Equal(t, b.ports[0].Missed(), 2, "missed frames of 3 by now")
}

// onOneCPU keeps the calling test on one CPU until the result is called.
func onOneCPU(t *testing.T) (end func()) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	assert.Must(t, unix.SchedGetaffinity(0, &before))
	for i := 0; one.Count() == 0; i++ {
		if before.IsSet(i) {
			one.Set(i)
		}
	}
	assert.Must(t, unix.SchedSetaffinity(0, &one))
	return func() { assert.Must(t, unix.SchedSetaffinity(0, &before)); runtime.UnlockOSThread() }
}

func sleep() { time.Sleep(25 * time.Millisecond) }
