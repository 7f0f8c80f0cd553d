package runner

import (
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

const megabit = 1_000_000

// What comes in while rings are left alone is bounded in octets: fast ports, whose time would be shorter than a sleep,
// are always listened to, and so are those without a speed.
func TestModerationIsBoundInOctets(t *testing.T) {
	for _, tt := range []struct{ speed, want int64 }{
		{0, 0}, {10 * megabit, moderateDepth}, {100 * megabit, 986_880}, {200 * megabit, 493_440}, {500 * megabit,
			197_376},
		{gigabit, 0}, {10 * gigabit, 0}, {100 * gigabit, 0},
	} {
		c := dataplane.PortConfig{Speed: tt.speed}
		got := moderation(&c)
		octets := tt.speed / 8 * got / second
		assert.True(t, got == tt.want && octets <= moderateOctets,
			"%d bit/s: %d ns, %d octets, want %d ns, at most %d octets", tt.speed, got, octets, tt.want, moderateOctets)
	}
}

// Rings are left alone from a burst that met long queues until these may be empty, and not within pollTime after a
// frame that may leave soon: one request among others, or several in a row, find the worker listening.
func TestRingsArePolledAfterAFrameThatMayLeaveSoon(t *testing.T) {
	const ms = second / 1000
	w := &worker{}
	p := &portTask{interval: ms / 2, refresh: new(refresh)}
	for i, step := range []struct {
		at          int64
		burst, soon bool
		quiet       int64
	}{
		{at: 1 * ms},
		{at: 2 * ms, burst: true, quiet: ms / 2},
		{at: 2*ms + ms/4, quiet: ms / 2},
		{at: 2*ms + 3*ms/4, quiet: ms / 4},
		{at: 3*ms - minSleep + 1},
		{at: 3*ms - minSleep/2, burst: true, quiet: ms / 2},
		{at: 4 * ms, burst: true, soon: true},
		{at: 5 * ms, burst: true},
		{at: 4*ms + pollTime - 1, burst: true},
		{at: 4*ms + pollTime, burst: true, quiet: ms / 2},
		{at: 5*ms + pollTime, burst: true, soon: true},
		{at: 5*ms + pollTime + 1},
	} {
		if step.burst {
			w.learnLoad(p, step.soon, step.at)
		}
		assert.Equal(t, p.moderationLeft(step.at), step.quiet, "step %d: ns for which it is left alone", i)
		if loaded := w.loaded(step.at); loaded != (step.at < p.longQueueUntil) || step.quiet > 0 && !loaded {
			t.Errorf("step %d: the worker looks for more, or does not: %v", i, loaded)
		}
	}
	w.learnLoad(&portTask{}, false, 30*ms)
	assert.True(t, !w.loaded(30*ms),
		"a port whose rings are never left alone does not keep the worker looking for more")
}

// A ringed port has sockets that are readable all the time.
type ringed struct {
	*loopPort
	fds map[port.Work]int32
}

func (p *ringed) Descriptors(fds []int32, what port.Work) []int32 {
	if fd, ok := p.fds[what]; ok {
		fds = append(fds, fd)
	}
	return fds
}

func readable(t *testing.T) int32 {
	t.Helper()
	fd := assert.Got(unix.Eventfd(1, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)).Must(t)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return int32(fd)
}

// Which rings a sleep leaves alone, and how long it is at most.
func TestModerate(t *testing.T) {
	const long = second
	crowded := cpuContention{share: contentionWhole}
	quiet := moderation(&dataplane.PortConfig{Speed: 200 * megabit})
	for _, tt := range []struct {
		name            string
		change          func(m *workerRig, p *portTask)
		other, lossless bool // are left alone
		d               int64
	}{
		{"long queues", func(*workerRig, *portTask) {}, true, true, quiet},
		{"a lossless queue near its threshold", func(m *workerRig, _ *portTask) { m.fill(t, 334) }, true, false, quiet},
		{"no flow control", func(m *workerRig, _ *portTask) {
			m.ports[0].Mode = macctl.ModeOff
			m.reconfigure(t)
			m.fill(t, 334)
		}, true, true, quiet},
		{"queues that may be empty", func(_ *workerRig, p *portTask) { p.longQueueUntil = 0 }, false, false, long},
		{"a port without a speed", func(_ *workerRig, p *portTask) { p.cfg.Speed = 0; p.configure(p.cfg) }, false,
			false, long},
		{"a fast port", func(_ *workerRig, p *portTask) { p.cfg.Speed = gigabit; p.configure(p.cfg) }, false, false,
			long},
		{"a delay line", func(m *workerRig, p *portTask) { m.w.lines = append(m.w.lines, p) }, false, false, long},
		{"a peer that is held for the ring", func(_ *workerRig, p *portTask) { p.refresh.hold.set(true) }, false, false,
			long},
		{"a frame that waits in the ring", func(_ *workerRig, p *portTask) {
			p.blocked[port.Lossless] = true
		}, false, false, long},
		{"a host beside waiting threads, after work", func(m *workerRig, p *portTask) {
			m.w.hostNIC, m.w.worked, m.w.cpuContention, p.longQueueUntil = true, true, crowded, 0
		}, true, true, hostModeration},
		{"a host beside waiting threads, without work", func(m *workerRig, p *portTask) {
			m.w.hostNIC, m.w.cpuContention, p.longQueueUntil = true, crowded, 0
		}, false, false, long},
		{"a host alone, after work", func(m *workerRig, p *portTask) {
			m.w.hostNIC, m.w.worked, p.longQueueUntil = true, true, 0
		}, false, false, long},
		{"no host, beside waiting threads, after work", func(m *workerRig, p *portTask) {
			m.w.worked, m.w.cpuContention, p.longQueueUntil = true, crowded, 0
		}, false, false, long},
	} {
		rings := map[port.Work]bool{port.WorkOther: tt.other, port.WorkLossless: tt.lossless, port.WorkControl: false}
		for what, alone := range rings {
			m := newWorkerRig(t, port.Other, nil, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
				ports[0].Speed = 200 * megabit
			})
			p := m.w.r.tasks[0]
			p.port = &ringed{m.in, map[port.Work]int32{what: readable(t)}}
			m.w.r.tasks[1].port = &ringed{m.out, nil}
			m.w.updatePollSet()
			opened := m.w.cpuContention
			m.w.cpuContention = cpuContention{}
			p.longQueueUntil = 2 * moderateDepth
			tt.change(m, p)
			d := m.w.moderate(m.w.r.sw, long, moderateDepth)
			got := expires(m.w.poller)
			assert.True(t, d == tt.d && got == alone,
				"%s, descriptors %b: a sleep of %d ns, left alone %v, want %d, %v", tt.name, what, d, got, tt.d, alone)
			assert.True(t, m.w.moderated == (tt.other || tt.lossless) && !m.w.worked,
				"%s: moderated %v, worked %v", tt.name, m.w.moderated, m.w.worked)
			m.w.cpuContention, m.w.lines = opened, nil
		}
	}
}

// What may come in by each of the ports whose rings are left alone counts for the lossless queues of all of them.
func TestModeratedPortsShareTheBuffer(t *testing.T) {
	for loaded, alone := range map[int]bool{1: true, 2: false} {
		m := newWorkerRig(t, port.Other, nil, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
			ports[0].Speed, ports[1].Speed = 200*megabit, 200*megabit
		})
		sw := m.w.r.sw
		for !sw.WouldExceedThreshold(0, 2*moderateOctets/shortestFrame, 2*moderateOctets) {
			m.fill(t, 1)
		}
		m.w.r.tasks[0].port = &ringed{m.in, map[port.Work]int32{port.WorkLossless: readable(t)}}
		m.w.r.tasks[1].port = &ringed{m.out, nil}
		m.w.updatePollSet()
		for _, p := range m.w.receivers[:loaded] {
			p.longQueueUntil = 2 * moderateDepth
		}
		m.w.moderate(sw, second, moderateDepth)
		assert.Equal(t, expires(m.w.poller), alone, "%d loaded ports: the lossless ring is left alone", loaded)
	}
}

// expires tells whether a wait ends by its time. A readable descriptor ends every wait, a signal only one.
func expires(w *port.Poller) bool {
	for range 10 {
		if w.Wait(0) == port.Expired {
			return true
		}
	}
	return false
}

// A host's rings are not left alone beyond a near deadline.
func TestHostNearADeadline(t *testing.T) {
	w := &worker{worked: true, hostNIC: true, cpuContention: cpuContention{share: contentionWhole}}
	d := w.moderate(nil, hostModeration, 1)
	assert.True(t, d == hostModeration && !w.moderated, "a sleep of %d ns, moderated %v", d, w.moderated)
}

// Through a real worker's rounds, judged at the time of each burst: bursts into a queue that does not empty let it
// leave the rings alone, and the first frame to another port ends that.
func TestLoadIsLearnedFromBursts(t *testing.T) {
	burst := repeated(data(0, 1, 0, 0, mtu), 16)
	m := newWorkerRig(t, port.Other, burst, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
		for i := range ports {
			ports[i].Speed, ports[i].Burst = 100*megabit, 2*int64(frame.WireOctets(mtu))
		}
	})
	p := m.w.r.tasks[0]
	for i, want := range []bool{false, true} {
		p.pollUntil = 0
		m.round()
		assert.Equal(t, p.moderationLeft(m.w.now) > 0, want, "round %d: the rings are left alone", i)
	}
	m.in.frames = append(burst[:15:15], port.Frame{Data: data(0, 1, 1, 0, mtu)})
	if m.round(); p.moderationLeft(m.w.now) != 0 || m.w.loaded(m.w.now) {
		t.Error("a frame of a priority that is not loaded came, and the rings are left alone")
	}
}
