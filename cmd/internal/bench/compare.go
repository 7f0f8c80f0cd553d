package bench

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
)

// Names of the devices under test in results.
const (
	dutPFC    = "pfcswitch"
	dutBridge = "bridge"
	dutOVS    = "ovs"
	dutOVSTSO = "ovs-tso"

	dutMachine = "machine" // what a thread meets that wants a CPU all the time
)

var switchNames = []string{dutPFC, dutBridge, dutOVS, dutOVSTSO}

// comparedHosts is how many hosts each of the compared switches has: two send, the second receives, and the fourth
// receives the frames whose latency is measured.
const comparedHosts = 4

// peers are paths of the programs that are compared with; "" where one is missing.
type peers struct {
	ovs     string // ovs-vswitchd
	iperf3  string
	ethtool string
}

// findPeers looks for the peers, and notes which are missing.
func (b *bench) findPeers() {
	found := func(name string) string {
		path, _ := exec.LookPath(name)
		return path
	}
	b.peers = peers{found("ovs-vswitchd"), found("iperf3"), found("ethtool")}
	if b.peers.ovs == "" {
		b.note("OPEN VSWITCH IS MISSING: it is left out (Debian: apt-get install openvswitch-switch)")
	}
	if b.peers.iperf3 == "" {
		b.note("IPERF3 IS MISSING: TCP is left out (Debian: apt-get install iperf3)")
	}
}

// compare makes a network for each of the switches that are compared, all of them at once.
func (b *bench) compare() (all []*network, err error) {
	text, err := benchYAML()
	if err != nil {
		return nil, err
	}
	for _, dut := range switchNames {
		n, err := b.comparedNetwork(dut, dut, comparedHosts, text)
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue
		}
		all = append(all, n)
		if err := n.forwards(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// comparedNetwork is startNetwork for a switch that is compared; nil where there is no such switch. TSO is a setting
// of Open vSwitch's whole daemon: with and without TSO there is a daemon each, with a database of its own.
func (b *bench) comparedNetwork(name, dut string, hosts int, yaml string) (*network, error) {
	if !b.present(dut) {
		return nil, nil
	}
	n, err := b.startNetwork(name, dut, hosts, yaml)
	if errors.Is(err, errNoTSO) { // no later part tries again
		b.note("OPEN VSWITCH WITH USERSPACE TSO IS LEFT OUT: %v", err)
		b.withoutTSO = true
		return nil, n.close()
	}
	return n, err
}

// present tells whether a switch is one of those that are measured: asked for, and there.
func (b *bench) present(dut string) bool {
	return dut == dutMachine || b.opt.compares(dut) && (dut != dutOVS && dut != dutOVSTSO || b.peers.ovs != "") &&
		(dut != dutOVSTSO || !b.withoutTSO)
}

// alternate returns the networks, in every other round from the last to the first. A network that is always measured
// before another gains or loses where the machine gets slower or faster.
func alternate[N any](all []N, round int) []N {
	all = slices.Clone(all)
	if round%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

// startBridge joins the network's ports by a Linux bridge.
func (n *network) startBridge() error {
	commands := []string{"ip link add br0 type bridge"}
	for i := range n.hosts {
		commands = append(commands, fmt.Sprintf("ip link set p%d master br0", i+1))
	}
	commands = append(commands, "ip link set br0 up")
	for i := 2; i <= len(n.hosts); i += 2 { // hosts of even number receive
		commands = append(commands, fmt.Sprintf("bridge fdb add %s dev p%d master static", mac(i), i))
	}
	return n.b.commands(n.sw, commands...)
}
