package main

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

// compare gives f a network for each of the switches that are compared, and removes them.
func (b *bench) compare(f func([]*network) error) (err error) {
	var all []*network
	defer func() {
		for _, n := range all {
			err = errors.Join(err, n.close())
		}
	}()
	starts := map[string]func(*network) error{
		ofPFC: func(n *network) error {
			text, err := benchYAML()
			if err != nil {
				return err
			}
			return errors.Join(n.startPFC(text), n.notePFC())
		},
		ofBridge: func(n *network) error {
			n.noteBridge()
			return n.startBridge()
		},
	}
	if b.peers.ovs != "" {
		starts[ofOVS] = func(n *network) error { return n.startOVS(false) }
	}
	for _, name := range []string{ofPFC, ofBridge, ofOVS} {
		if starts[name] == nil || !b.opt.compares(name) {
			continue
		}
		n, err := b.newNetwork(name, comparedHosts)
		if err != nil {
			return err
		}
		all = append(all, n)
		if err := starts[name](n); err != nil {
			return err
		}
		if err := n.forwards(); err != nil {
			return err
		}
	}
	return f(all)
}
