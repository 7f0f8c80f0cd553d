package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
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
	tap *tap
}

// fdb compares a switch that has learned 100,000 stations with one that knows its two hosts: the rate of a sender to one
// host. Frames to all stations in random order are written to a TAP, faster than the switch takes them, and compared with
// frames to one station from there.
func (b *bench) fdb() (err error) {
	number := stations
	if b.opt.smoke {
		number = smokeStations
	}
	empty, err := b.fdbNetwork("fdb-empty")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, empty.end()) }()
	full, err := b.fdbNetwork("fdb-full")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.end()) }()
	took, err := full.learn(number)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d stations learned in %.1f s\n", number, took.Seconds())
	for round := range b.opt.rounds {
		if err := b.fdbRound(empty, full, round, number); err != nil {
			return errors.Join(err, empty.alive(), full.alive())
		}
	}
	return full.knows(number)
}

func (b *bench) fdbNetwork(name string) (*fdbNetwork, error) {
	n, err := b.newNetwork(name, 2)
	if err != nil {
		return nil, err
	}
	f := &fdbNetwork{network: n}
	if f.tap, err = b.newTap(n.sw, "p3"); err == nil {
		err = n.startPFC(fdbYAML + staticEntries(1, 2))
	}
	if err != nil {
		return nil, errors.Join(err, f.end())
	}
	return f, nil
}

func (f *fdbNetwork) end() error {
	if f.tap != nil {
		f.tap.close()
	}
	return f.network.close()
}

// stationMAC is the address of station i, in a block of addresses of their own.
func stationMAC(i int) [6]byte {
	return [6]byte{0x02, 0x10, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}
}

// stationFrame is a frame of 60 octets in the VLAN.
func stationFrame(to, from [6]byte) []byte {
	b := make([]byte, 60)
	copy(b, to[:])
	copy(b[6:], from[:])
	copy(b[12:], []byte{0x81, 0, 0, vlan, 0x88, 0xb5}) // priority 0; EtherType for local experiments
	return b
}

// learn lets a frame of each station come to port 2, from a TAP that a bridge in host 2's namespace joins with the link, and
// returns how long it took until the switch knew all.
func (f *fdbNetwork) learn(number int) (time.Duration, error) {
	host := f.hosts[1]
	t, err := f.b.newTap(host, "stations")
	if err != nil {
		return 0, err
	}
	defer t.close()
	const join = "link add br0 type bridge\nlink set eth0 master br0\nlink set stations master br0\nlink set br0 up\n"
	if _, err := f.b.doWith("", join, "ip", "-n", host.namespace, "-batch", "-"); err != nil {
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
			if err := t.write(stationFrame([6]byte{2, 0, 0, 0, 0, 1}, stationMAC(i))); err != nil {
				return 0, err
			}
		}
		if err = f.knows(number); err == nil || try == 4 {
			break
		}
	}
	took := time.Since(start)
	_, gone := f.b.do("", "ip", "-n", host.namespace, "link", "del", "br0")
	return took, errors.Join(err, gone)
}

// knows asks the switch how many learned stations it has.
func (f *fdbNetwork) knows(number int) error {
	var r struct{ Entries []struct{ Static bool } }
	if err := f.show(&r, "fdb"); err != nil {
		return err
	}
	learned := 0
	for _, e := range r.Entries {
		if !e.Static {
			learned++
		}
	}
	if learned < number {
		return fmt.Errorf("the switch knows %d of %d stations", learned, number)
	}
	return nil
}

func (b *bench) fdbRound(empty, full *fdbNetwork, round, number int) error {
	l := load{octets: b.opt.octets[0], priority: probePriority, time: b.opt.seconds}
	var rates [2]float64
	for i, f := range []*fdbNetwork{empty, full} {
		l.flows = f.straight(1)
		o, err := b.measure(l)
		if err != nil {
			return err
		}
		rates[i] = o.rate
		values := []value{{frameRate, o.rate}, {cpuPerFrame, o.perFrame()}}
		if i == 1 {
			values = append(values, value{toEmpty, rates[1] / rates[0]})
		}
		b.record("fdb", fmt.Sprintf("from=sender to=one_host stations=%d", i*number), ofPFC, round, values...)
	}
	for i, to := range []int{1, number} {
		o, err := full.strew(to)
		if err != nil {
			return err
		}
		rates[i] = o.rate
		values := []value{{frameRate, o.rate}, {cpuPerFrame, o.perFrame()}, {ofOffered, float64(o.delivered) / float64(o.offered)}}
		if i == 1 {
			values = append(values, value{toOne, rates[1] / rates[0]})
		}
		b.record("fdb", fmt.Sprintf("from=tap to=%d_stations stations=%d", to, number), ofPFC, round, values...)
	}
	return nil
}

// strew writes frames to port 3 for a while, to random ones of the first so many stations, and counts what comes at host 2.
func (f *fdbNetwork) strew(to int) (o outcome, err error) {
	frames := make([][]byte, 1<<17)
	for i := range frames {
		frames[i] = stationFrame(stationMAC(rand.IntN(to)), [6]byte{2, 0, 0, 0, 0, 3})
	}
	if err := f.tap.drain(); err != nil {
		return o, err
	}
	before, err := f.hosts[1].received("eth0")
	if err != nil {
		return o, err
	}
	busy, err := machineBusy()
	if err != nil {
		return o, err
	}
	start := time.Now()
	for ; time.Since(start) < f.b.opt.seconds; o.offered += 64 {
		for i := range 64 {
			if err := f.tap.write(frames[(o.offered+uint64(i))%uint64(len(frames))]); err != nil {
				return o, err
			}
		}
		if err := f.b.ctx.Err(); err != nil {
			return o, err
		}
	}
	o.elapsed = time.Since(start).Seconds()
	if err := f.b.sleep(f.b.opt.settle); err != nil {
		return o, err
	}
	after, err := f.hosts[1].received("eth0")
	if err != nil {
		return o, err
	}
	o.delivered = after.frames - before.frames
	o.rate = float64(o.delivered) / o.elapsed // up to 16,384 frames, its ring, come after the end
	o.cpu, err = machineBusy()
	o.cpu -= busy
	return o, err
}
