package bench

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/api"
)

// stations is how many the switch learns; a smoke run takes fewer.
const (
	stations      = 100_000
	smokeStations = 2_000
)

// fdbYAML is a switch that forgets nobody while the benchmark runs. Port 3 is a TAP.
const fdbYAML = `preset: roce
metrics: {listen: "127.0.0.1:9808"}
ageing: 1000000s
ports:
  p1: {speed: none, tagged: [10], ring: {other: 16384}}
  p2: {speed: none, tagged: [10], ring: {other: 16384}}
  p3: {speed: none, tagged: [10], ring: {other: 16384}}
`

// A fdbNetwork has two hosts and a TAP at port 3.
type fdbNetwork struct {
	*network
	tap  tap
	next int // frame of those that a backlog burst is made of
}

// fdb makes two comparisons of the switch's CPU time for a frame. A switch that has learned 100,000 stations stands
// against one that knows its two hosts, both with frames to one host, whose entry is in the CPU's cache. And frames to
// all stations in random order stand against frames to one. Rates of a sender and of a TAP are measured too. Where
// both are slower than the switch, share_of_offered is 1 and rates tell little: so the CPU time is that of backlog
// bursts.
func (b *bench) fdb() error {
	number := stations
	if b.opt.smoke {
		number = smokeStations
	}
	empty, err := b.fdbNetwork("fdb-empty")
	if err != nil {
		return err
	}
	full, err := b.fdbNetwork("fdb-full")
	if err != nil {
		return err
	}
	took, err := full.learn(number)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d stations learned in %.1f s\n", number, took.Seconds())
	if err := b.eachRound(func(round int) error { return b.fdbRound(empty, full, round, number) }); err != nil {
		return errors.Join(err, empty.alive(), full.alive())
	}
	return full.knows(number)
}

func (b *bench) fdbNetwork(name string) (*fdbNetwork, error) {
	n, err := b.newNetwork(name, dutPFC, 2)
	if err != nil {
		return nil, err
	}
	t, err := n.newTap(n.sw, "p3")
	if err != nil {
		return nil, err
	}
	return &fdbNetwork{network: n, tap: t}, n.startPFC(fdbYAML + staticEntries(1, 2))
}

// stationMAC is the address of station i, in a block of addresses of their own.
func stationMAC(i int) net.HardwareAddr {
	return binary.BigEndian.AppendUint32(net.HardwareAddr{0x02, 0x10}, uint32(i))
}

// stationFrame is a frame of 60 octets in the VLAN.
func stationFrame(to, from net.HardwareAddr) []byte {
	b := make([]byte, 60)
	copy(b, to)
	copy(b[6:], from)
	copy(b[12:], []byte{0x81, 0, 0, vlan, 0x88, 0xb5}) // priority 0; EtherType for local experiments
	return b
}

// learn lets a frame of each station come to port 2, from a TAP that a bridge in host 2's namespace joins with the
// link, and returns how long it took until the switch knew all.
func (f *fdbNetwork) learn(number int) (time.Duration, error) {
	host := f.hosts[1]
	t, err := f.newTap(host, "stations")
	if err != nil {
		return 0, err
	}
	if err := f.b.commands(host, "ip link add br0 type bridge", "ip link set eth0 master br0",
		"ip link set stations master br0", "ip link set br0 up"); err != nil {
		return 0, err
	}
	start := time.Now()
	for try := 0; ; try++ {
		for i := range number {
			if i%64 == 0 {
				if err := f.b.ctx.Err(); err != nil {
					return 0, err
				}
				time.Sleep(50 * time.Microsecond) // slower than what a ring takes
			}
			if err := t.write(stationFrame(hostMAC(1), stationMAC(i))); err != nil {
				return 0, err
			}
		}
		if err = f.knows(number); err == nil || try == 4 {
			break
		}
	}
	took := time.Since(start)
	return took, errors.Join(err, host.DeleteLink("br0"), host.DeleteLink("stations"))
}

// knows asks the switch how many learned stations it has.
func (f *fdbNetwork) knows(number int) error {
	r, err := show[*api.FDB](f.network, "fdb")
	if err != nil {
		return err
	}
	learned := len(slices.DeleteFunc(r.Entries, func(e api.FDBEntry) bool { return e.Static }))
	if learned < number {
		return fmt.Errorf("the switch knows %d of %d stations", learned, number)
	}
	return nil
}

// A fdbCase is a load of this part. from and to are its conditions.
type fdbCase struct {
	from, to string
	of       *fdbNetwork
	load     load
	frames   [][]byte // that backlog bursts consist of
}

func (b *bench) fdbRound(empty, full *fdbNetwork, round, number int) error {
	hot := func(f *fdbNetwork, number int) fdbCase {
		return fdbCase{"sender", fmt.Sprintf("to=one_hot_host stations=%d", number), f,
			load{flows: f.flowsToHost2(1), octets: b.opt.octets[0], priority: probePriority, time: b.opt.seconds},
			[][]byte{stationFrame(hostMAC(2), hostMAC(3))}}
	}
	scattered := func(to int) fdbCase {
		frames := scatteredFrames(to)
		return fdbCase{"tap", fmt.Sprintf("to=%d_stations stations=%d", to, number), full,
			load{flows: full.flowsToHost2(1), write: func() (uint64, error) { return full.writeFor(frames) }}, frames}
	}
	if err := b.fdbPair(round, toEmpty, hot(empty, 0), hot(full, number)); err != nil {
		return err
	}
	return b.fdbPair(round, toOne, scattered(1), scattered(number))
}

// fdbPair measures two cases and compares the CPU time of the switch for a frame in the second with that in the first.
func (b *bench) fdbPair(round int, ratio string, pair ...fdbCase) error {
	for _, c := range alternate(pair, round) {
		o, err := b.measure(c.load)
		if err != nil {
			return err
		}
		b.record("fdb", fmt.Sprintf("from=%s %s", c.from, c.to), dutPFC, round, value{frameRate, o.rate},
			value{ofOffered, float64(o.delivered) / float64(o.offered)}, value{cpuPerFrame, o.perFrame()})
	}
	own, err := b.backlogCosts(pair)
	if err != nil {
		return err
	}
	b.record("fdb", "from=pile "+pair[0].to, dutPFC, round, value{ownPerFrame, own[0]})
	b.record("fdb", "from=pile "+pair[1].to, dutPFC, round, value{ownPerFrame, own[1]}, value{ratio, own[1] / own[0]})
	return nil
}

// scatteredFrames are to random ones of the first so many stations.
func scatteredFrames(to int) [][]byte {
	frames := make([][]byte, 1<<17)
	for i := range frames {
		frames[i] = stationFrame(stationMAC(rand.IntN(to)), hostMAC(3))
	}
	return frames
}

// writeFor writes frames to port 3 for a while, and returns how many.
func (f *fdbNetwork) writeFor(frames [][]byte) (n uint64, err error) {
	if err := f.tap.drain(); err != nil {
		return 0, err
	}
	for start := time.Now(); time.Since(start) < f.b.opt.seconds && f.b.ctx.Err() == nil; {
		for range 64 {
			if err := f.tap.write(frames[n%uint64(len(frames))]); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, f.b.ctx.Err()
}

// A backlog burst is frames that come while the switch is stopped, half as many as port 3's ring has slots, so that
// the ring takes all. Then the switch carries them without a break. While frames come one by one a worker waits for
// them, by spinning, moderation or sleep, and the switch's CPU time a frame depends on the sender's rate.
const backlogBurst = 8192

// backlogCosts returns what a frame takes of the switch's CPU time in two cases, µs. Their bursts are carried in turn,
// so that a change of the machine's speed meets both.
func (b *bench) backlogCosts(pair []fdbCase) (perFrame [2]float64, err error) {
	var spent [2]time.Duration
	var carried [2]uint64
	for end := time.Now().Add(2 * b.opt.seconds); time.Now().Before(end) || carried[1] == 0; {
		for i, c := range pair {
			t, n, err := c.of.carryBacklog(c.frames)
			if err := cmp.Or(b.ctx.Err(), err); err != nil {
				return perFrame, err
			}
			spent[i] += t
			carried[i] += n
			perFrame[i] = spent[i].Seconds() * 1e6 / float64(carried[i])
		}
	}
	return perFrame, nil
}

// carryBacklog lets the switch carry one burst of the frames, and returns its CPU time and how many frames arrived.
func (f *fdbNetwork) carryBacklog(frames [][]byte) (spent time.Duration, carried uint64, err error) {
	before, err := f.received()
	if err != nil {
		return 0, 0, err
	}
	if err := f.signal(syscall.SIGSTOP); err != nil {
		return 0, 0, err
	}
	if err := f.fill(frames); err != nil {
		return 0, 0, errors.Join(err, f.signal(syscall.SIGCONT))
	}
	what := fmt.Sprintf("all %d frames of a backlog burst arrive", backlogBurst)
	used, err := f.usageOf(func() error {
		return errors.Join(f.signal(syscall.SIGCONT), f.b.eventually(what, patience, func() (bool, error) {
			now, err := f.received()
			if carried = now - before; carried < backlogBurst {
				return false, errors.Join(err, fmt.Errorf("%d did", carried))
			}
			return true, err
		}))
	})
	return used.process, carried, err
}

// fill writes a burst to port 3, from where the last one ended.
func (f *fdbNetwork) fill(frames [][]byte) error {
	for range backlogBurst {
		if err := f.tap.write(frames[f.next%len(frames)]); err != nil {
			return err
		}
		f.next++
	}
	return nil
}

// signal stops the switch or lets it go on.
func (f *fdbNetwork) signal(s syscall.Signal) error {
	for _, d := range f.daemons {
		if err := syscall.Kill(d.Pid(), s); err != nil {
			return fmt.Errorf("%v to %s: %w", s, d.Name(), err)
		}
	}
	return nil
}
