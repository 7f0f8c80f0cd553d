package bench

import (
	"errors"
	"fmt"

	"pfcswitch/cmd/internal/traffic"
)

// tcpAddress is that of host n for TCP. Hosts are plain: frames are untagged and the priority is the DSCP's.
func tcpAddress(n int) string { return fmt.Sprintf("10.99.0.%d", n) }

// dscpOf is the DSCP that preset roce maps to a priority: 26 is 3, the others are eight times the priority.
func dscpOf(priority int) int {
	if priority == 3 {
		return 26
	}
	return 8 * priority
}

// tcpYAML is bench.yaml for two untagged hosts.
const tcpYAML = `preset: roce
metrics: {listen: "127.0.0.1:9808"}
priorities: {trust: dscp}
ports:
  p1: {speed: none, ring: {other: 16384}}
  p2: {speed: none, ring: {other: 16384}}
`

// tcp measures iperf3 through the switches with 1 and 4 streams.
func (b *bench) tcp() error {
	if b.peers.iperf3 == "" {
		return nil // findPeers has printed so
	}
	var all []*network
	for _, dut := range switchNames {
		n, err := b.comparedNetwork("tcp-"+dut, dut, 2, tcpYAML)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		all = append(all, n)
		if err := n.prepareTCP(); err != nil {
			return err
		}
	}
	for round := range b.opt.rounds {
		for _, streams := range []int{1, 4} {
			for _, priority := range b.opt.priorities {
				for _, n := range alternate(all, round) {
					if err := n.transfer(round, streams, priority); err != nil {
						return fmt.Errorf("%s: %w", n.name, err)
					}
				}
			}
		}
	}
	return nil
}

// prepareTCP gives the hosts addresses, and starts the server. Where nothing arrives with the hosts' default offloads,
// prepareTCP switches those off.
func (n *network) prepareTCP() error {
	for i, h := range n.hosts {
		other := 2 - i
		neighbour := fmt.Sprintf("ip neigh add %s lladdr %s dev eth0 nud permanent", tcpAddress(other), mac(other))
		if err := errors.Join(h.AddAddr("eth0", tcpAddress(i+1)+"/24"), n.b.commands(h, neighbour)); err != nil {
			return err
		}
	}
	server, err := n.b.start(n.hosts[1], n.b.peers.iperf3, "-s", "-B", tcpAddress(2))
	if err != nil {
		return err
	}
	n.daemons = append(n.daemons, server)
	listens := func() (bool, error) { return n.hosts[1].Listens(5201) }
	if err := n.b.eventually("iperf3 listens", patience, listens); err != nil {
		return err
	}
	if _, err := n.iperf(1, 0, "-n", "1M"); err == nil {
		return nil
	} else if n.dut == dutPFC || n.dut == dutBridge || n.b.ctx.Err() != nil {
		return err // these have to carry what hosts send by default
	}
	if n.b.peers.ethtool == "" {
		return errors.New("nothing arrives with the hosts' default offloads, " +
			"and there is no ethtool to switch them off")
	}
	n.b.note("%s: TCP DOES NOT GET THROUGH WITH THE HOSTS' DEFAULT OFFLOADS: its hosts have them switched off", n.dut)
	n.withoutOffloads = true
	for _, h := range n.hosts {
		if _, err := n.b.do(h, n.b.peers.ethtool, "-K", "eth0", "tx", "off"); err != nil {
			return err
		}
	}
	return nil
}

// iperf runs the client; length is "-t" or "-n" with its value.
func (n *network) iperf(streams, priority int, length ...string) (r traffic.IperfReport, err error) {
	argv := append([]string{n.b.peers.iperf3, "-c", tcpAddress(2), "-J", "--connect-timeout", "2000",
		"-P", fmt.Sprint(streams), "--dscp", fmt.Sprint(dscpOf(priority))}, length...)
	p, err := n.b.start(n.hosts[0], argv...)
	if err != nil {
		return r, err
	}
	out, ended := n.b.wait(p, n.b.opt.seconds+patience)
	if r, err = traffic.ParseIperf(out); err != nil {
		return r, errors.Join(err, ended) // iperf3 reports what went wrong
	}
	return r, ended
}

// transfer is one run, with the machine's CPU time and the frames that came: those of more than 1514 octets are
// GSO frames.
func (n *network) transfer(round, streams, priority int) error {
	length := []string{"-t", fmt.Sprintf("%.0f", max(1, n.b.opt.seconds.Seconds()))}
	if n.b.opt.smoke {
		length = []string{"-n", "20M"}
	}
	before, err := n.hosts[1].Stats("eth0")
	if err != nil {
		return err
	}
	var r traffic.IperfReport
	used, err := n.usageOf(func() (err error) {
		r, err = n.iperf(streams, priority, length...)
		return err
	})
	if err != nil {
		return errors.Join(err, n.alive())
	}
	after, err := n.hosts[1].Stats("eth0")
	if err != nil {
		return err
	}
	frames, octets := after.ReceivedFrames-before.ReceivedFrames, after.ReceivedBytes-before.ReceivedBytes
	byDefault := 1.0
	if n.withoutOffloads {
		byDefault = 0
	}
	n.b.record("tcp", fmt.Sprintf("streams=%d priority=%d", streams, priority), n.dut, round,
		value{throughput, r.Rate / 1e9}, value{resent, float64(r.Retransmitted)},
		value{cpuPerGB, used.busy.Seconds() / (float64(r.Octets) / 1e9)},
		value{perReceived, float64(octets) / float64(max(1, frames))}, value{offloads, byDefault})
	return nil
}
