package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"pfcswitch/cmd/internal/lab"
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

// A tcpNetwork has two hosts with addresses and a server.
type tcpNetwork struct {
	*network
	offloads float64 // 1, or 0 where nothing arrives with the hosts' defaults
}

// tcp measures iperf3 through the switches with 1 and 4 streams.
func (b *bench) tcp() error {
	if b.peers.iperf3 == "" {
		return nil // findPeers has said so
	}
	var all []*tcpNetwork
	for _, dut := range switchNames {
		n, err := b.comparedNetwork("tcp-"+dut, dut, 2, tcpYAML)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		t := &tcpNetwork{n, 1}
		all = append(all, t)
		if err := t.prepare(); err != nil {
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

// prepare gives the hosts addresses, and starts the server. Where nothing arrives with the hosts' default offloads,
// prepare switches those off.
func (t *tcpNetwork) prepare() error {
	for i, h := range t.hosts {
		other := 2 - i
		neighbour := fmt.Sprintf("neigh add %s lladdr %s dev eth0 nud permanent", tcpAddress(other), mac(other))
		if err := errors.Join(h.AddAddr("eth0", tcpAddress(i+1)+"/24"), t.b.ip(h, neighbour)); err != nil {
			return err
		}
	}
	server, err := t.b.start(t.hosts[1], t.b.peers.iperf3, "-s", "-B", tcpAddress(2))
	if err != nil {
		return err
	}
	t.daemons = append(t.daemons, server)
	if err := t.b.eventually("iperf3 listens", patience, func() (bool, error) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", server.Pid()))
		return strings.Contains(string(b), ":1451 00000000:0000 0A"), err // port 5201, LISTEN
	}); err != nil {
		return err
	}
	if _, err := t.iperf(1, 0, "-n", "1M"); err == nil {
		return nil
	} else if t.dut == dutPFC || t.dut == dutBridge || t.b.ctx.Err() != nil {
		return err // these have to carry what hosts send by default
	}
	if t.b.peers.ethtool == "" {
		return errors.New("nothing arrives with the hosts' default offloads, " +
			"and there is no ethtool to switch them off")
	}
	t.b.note("%s: TCP DOES NOT GET THROUGH WITH THE HOSTS' DEFAULT OFFLOADS: its hosts have them switched off", t.dut)
	t.offloads = 0
	for _, h := range t.hosts {
		if _, err := t.b.do(h, t.b.peers.ethtool, "-K", "eth0", "tx", "off"); err != nil {
			return err
		}
	}
	return nil
}

// iperfReport is what matters of the report of iperf3 -J.
type iperfReport struct {
	End struct {
		Sent struct {
			Retransmits uint64 `json:"retransmits"`
		} `json:"sum_sent"`
		Received struct {
			Octets  float64 `json:"bytes"`
			BitRate float64 `json:"bits_per_second"`
		} `json:"sum_received"`
	} `json:"end"`
	Error string `json:"error"`
}

func parseIperf(out []byte) (r iperfReport, err error) {
	switch err := json.Unmarshal(out, &r); {
	case err != nil:
		return r, fmt.Errorf("report of iperf3: %w", err)
	case r.Error != "":
		return r, fmt.Errorf("iperf3: %s", r.Error)
	case r.End.Received.Octets <= 0 || r.End.Received.BitRate <= 0:
		return r, errors.New("iperf3: nothing was received")
	}
	return r, nil
}

// iperf runs the client; length is "-t" or "-n" with its value.
func (t *tcpNetwork) iperf(streams, priority int, length ...string) (r iperfReport, err error) {
	argv := append([]string{t.b.peers.iperf3, "-c", tcpAddress(2), "-J", "--connect-timeout", "2000",
		"-P", fmt.Sprint(streams), "--dscp", fmt.Sprint(dscpOf(priority))}, length...)
	p, err := t.b.start(t.hosts[0], argv...)
	if err != nil {
		return r, err
	}
	out, err := t.b.wait(p, t.b.opt.seconds+patience)
	if report, parsed := parseIperf(out); err == nil || parsed != nil && report.Error != "" {
		return report, parsed // iperf3 says in its report what went wrong
	}
	return r, err
}

// transfer is one run, with the machine's CPU time and the frames that came: those of more than 1514 octets are
// GSO frames.
func (t *tcpNetwork) transfer(round, streams, priority int) error {
	before, err := t.hosts[1].Stats("eth0")
	if err != nil {
		return err
	}
	start, err := lab.ReadCPUTimes()
	if err != nil {
		return err
	}
	length := []string{"-t", fmt.Sprintf("%.0f", max(1, t.b.opt.seconds.Seconds()))}
	if t.b.opt.smoke {
		length = []string{"-n", "20M"}
	}
	r, err := t.iperf(streams, priority, length...)
	if err != nil {
		return errors.Join(err, t.alive())
	}
	after, err := t.hosts[1].Stats("eth0")
	if err != nil {
		return err
	}
	end, err := lab.ReadCPUTimes()
	if err != nil {
		return err
	}
	frames, octets := after.ReceivedFrames-before.ReceivedFrames, after.ReceivedBytes-before.ReceivedBytes
	t.b.record("tcp", fmt.Sprintf("streams=%d priority=%d", streams, priority), t.dut, round,
		value{throughput, r.End.Received.BitRate / 1e9}, value{resent, float64(r.End.Sent.Retransmits)},
		value{cpuPerGB, (end.Busy - start.Busy).Seconds() / (r.End.Received.Octets / 1e9)},
		value{perReceived, float64(octets) / float64(max(1, frames))}, value{offloads, t.offloads})
	return nil
}
