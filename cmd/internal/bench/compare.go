package bench

import "errors"

// Names of the switches in results.
const (
	ofPFC    = "pfcswitch"
	ofBridge = "bridge"
	ofOVS    = "ovs"
	ofOVSTSO = "ovs-tso"

	ofMachine = "machine" // what a thread meets on it that wants a CPU all the time
)

var switchNames = []string{ofPFC, ofBridge, ofOVS, ofOVSTSO}

// comparedHosts is how many hosts each of the compared switches has: two send, the second receives, and the fourth
// receives the frames whose latency is measured.
const comparedHosts = 4

// compare gives f a network for each of the switches that are compared, all of them at once, and removes them. Open vSwitch's TSO is a
// setting of the whole daemon: with and without it there is a daemon each, with a database of its own.
func (b *bench) compare(f func([]*network) error) (err error) {
	var all []*network
	defer func() {
		for _, n := range all {
			err = errors.Join(err, n.close())
		}
	}()
	for _, name := range switchNames {
		if !b.present(name) {
			continue
		}
		n, err := b.newNetwork(name, comparedHosts)
		if err != nil {
			return err
		}
		all = append(all, n)
		if err := n.startCompared(); errors.Is(err, errNoTSO) {
			all = all[:len(all)-1]
			if err := b.leaveOutTSO(n, err); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		if err := n.forwards(); err != nil {
			return err
		}
	}
	return f(all)
}

// startCompared starts the switch that the network is of.
func (n *network) startCompared() error {
	switch n.of {
	case ofPFC:
		text, err := benchYAML()
		if err != nil {
			return err
		}
		return errors.Join(n.startPFC(text), n.notePFC())
	case ofBridge:
		n.noteBridge()
		return n.startBridge()
	default:
		return n.startOVS(n.of == ofOVSTSO)
	}
}

// leaveOutTSO removes the network of Open vSwitch with TSO, which there is not, and says so; no later part tries again.
func (b *bench) leaveOutTSO(n *network, why error) error {
	b.note("OPEN VSWITCH WITH USERSPACE TSO IS LEFT OUT: %v", why)
	b.withoutTSO = true
	return n.close()
}

// present tells whether a switch is one of those that are measured: asked for, and there.
func (b *bench) present(of string) bool {
	return of == ofMachine || b.opt.compares(of) && (of != ofOVS && of != ofOVSTSO || b.peers.ovs != "") && (of != ofOVSTSO || !b.withoutTSO)
}
