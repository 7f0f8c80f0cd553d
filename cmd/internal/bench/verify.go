package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// verify shows on links whose answer is known that figures are what they say: counters against those that "ip" reads, and
// latency against a delay that pfcswitch adds, of which it is at least as much, and less than a second more. The switch sends nothing of its own.
func (b *bench) verify() (err error) {
	const delay = 5 * time.Millisecond
	n, err := b.newNetwork("verify", comparedHosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	text := fmt.Sprintf(`preset: roce
metrics: {listen: off}
lldp: {agent: off}
ports:
  p1: {speed: 1G, tagged: [10], loop: off}
  p2: {speed: 1G, tagged: [10], loop: off}
  p3: {speed: 1G, tagged: [10], loop: off}
  p4: {speed: 1G, tagged: [10], loop: off, delay: %s}
`, delay)
	if err := n.startPFC(text + staticEntries(2, 4)); err != nil {
		return err
	}
	if err := n.forwards(); err != nil {
		return err
	}
	if err := n.verifyCounters(); err != nil {
		return err
	}
	values, err := n.probe()
	if err != nil {
		return err
	}
	got := time.Duration(values[0].v * 1e3)
	if values[0].metric != p50 || got < delay || got > delay+time.Second {
		return fmt.Errorf("latency behind a port with a delay of %v: %s is %v", delay, values[0].metric, got)
	}
	_, err = fmt.Fprintf(b.out, "latency behind a port with a delay of %v: %v (median)\n", delay, got)
	return err
}

// verifyCounters sends a known number of frames and compares what is counted with what "ip" says.
func (n *network) verifyCounters() error {
	o, err := n.b.measure(load{through: n, flows: n.straight(1), octets: 512, priority: probePriority, time: 100 * time.Millisecond, rate: 10_000})
	if err != nil {
		return err
	}
	c, err := n.hosts[1].received("eth0")
	if err != nil {
		return err
	}
	said, err := n.b.do("", "ip", "-n", n.hosts[1].namespace, "-s", "-j", "link", "show", "eth0")
	if err != nil {
		return err
	}
	var links []struct {
		Stats struct {
			Rx struct{ Bytes, Packets uint64 }
		} `json:"stats64"`
	}
	if err := json.Unmarshal([]byte(said), &links); err != nil || len(links) != 1 {
		return fmt.Errorf("ip -s -j link: %q: %w", said, err)
	}
	if rx := links[0].Stats.Rx; o.delivered != o.offered || o.offered == 0 || rx.Packets != c.frames || rx.Bytes != c.octets {
		return fmt.Errorf("%d frames offered, %d counted as delivered; counted %d frames and %d octets in all, ip says %d and %d", o.offered, o.delivered, c.frames,
			c.octets, rx.Packets, rx.Bytes)
	}
	return nil
}
