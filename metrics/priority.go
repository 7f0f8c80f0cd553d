package metrics

import (
	"strconv"

	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// Values of the label "priority" beside "0" to "7".
const (
	all     = "all"     // a port with 802.3x PAUSE has one ingress queue and one pause state for all priorities
	unknown = "unknown" // lost before anybody read the frame
)

// ingressLabels returns the labels of a port's lossless ingress queues.
func ingressLabels(c *dataplane.PortConfig) (labels []string) {
	if c.Mode == macctl.ModePause {
		return []string{all}
	}
	for prio := range dataplane.NumPriorities {
		if c.LosslessPriorities()&(1<<prio) != 0 {
			labels = append(labels, strconv.Itoa(prio))
		}
	}
	return labels
}

// byLabel yields the label of every priority of a port with its count, and whether it is lossless. n has a count for
// each priority and, at dataplane.Unknown, one for frames whose priority nobody has read.
func byLabel(c *dataplane.PortConfig, n *[dataplane.NumPriorities + 1]uint64, yield func(label string, n uint64, lossless bool)) {
	if c.Mode == macctl.ModePause {
		sum := uint64(0)
		for _, n := range n[:dataplane.NumPriorities] {
			sum += n
		}
		yield(all, sum, true)
	} else {
		for prio, n := range n[:dataplane.NumPriorities] {
			yield(strconv.Itoa(prio), n, c.LosslessPriorities()&(1<<prio) != 0)
		}
	}
	yield(unknown, n[dataplane.Unknown], true)
}
