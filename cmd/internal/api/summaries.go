package api

// Summary is the line about findings of a trap; "" where there is none.
func Summary(trap string) string { return summaries[trap] }

// summaries say in a line what each trap of Finding is, and what to do.
var summaries = map[string]string{
	"address":            "the kernel answers here too, so the port is refused: take its address away",
	"bridge-between":     "a bridge of the kernel eats PFC, PAUSE and LLDP: take the interface out of it",
	"capabilities":       "the switch has not the rights that it needs: give its file capabilities",
	"clock":              "reading the clock is slow, so stamps are coarse: take another clock source",
	"control-swallowed":  "no pause passes, so the port is lossy: turn off the NIC's own flow control, or take another",
	"dcbx-mismatch":      "the ends hold different priorities: write the same, or lldp: {willing: true}",
	"governor":           "the CPU begins slowly after idle times: set the governor to performance",
	"gro":                "the kernel joins frames, so they come late and at once: turn it off",
	"gro-order":          "frames of a flow get out of order: turn the offload off, or write send: packet",
	"hardware-pause":     "the NIC keeps PAUSE for itself: turn that off",
	"headroom-by-hand":   "the link cannot be measured: write its headroom, or headroom: calculated",
	"host-without-nic":   "a plain host obeys no PFC, and sends untagged: run pfcswitch nic on it",
	"ipv6-noise":         "IPv6 sends by itself: turn it off where counters have to stand still",
	"kernel-backlog":     "the kernel dropped frames before any socket: raise net.core.netdev_max_backlog",
	"link-down":          "the link carries nothing: switch it on",
	"lossless-discarded": "lossless frames are dropped on purpose: pfcswitch explain and capture say which",
	"lossless-lost":      "lossless frames were lost: pfcswitch show events says why",
	"lro":                "the NIC joins frames, so they come late and at once: turn it off",
	"master":             "a bridge or bond of the kernel has the interface too: take it out",
	"missing-interface":  "the interface is not there: make it, or correct its name",
	"missing-namespace":  "the network namespace is not there: make it, or correct its name",
	"mtu":                "the two ends have different MTUs: longer frames are dropped; set one MTU",
	"nice":               "the switch runs after other programs: let it have its nice value",
	"one-cpu":            "hosts and switch share one CPU: give the machine another",
	"overspeed":          "the peer sends faster than the port: give both ends a speed (pfcswitch nic has one)",
	"port-down":          "the port carries nothing: pfcswitch show ports says why",
	"priority-untagged":  "frames of a VLAN lose their priority with the tag here: tag it",
	"qdisc":              "a queueing discipline delays or drops frames: take it away",
	"rps":                "frames are handed to other CPUs, so pauses come late: turn it off",
	"several-neighbors":  "more than one speaks LLDP here, so DCBX follows none: leave one",
	"super-frames":       "TCP hands over up to 64 KiB at once, which no XOFF stops: turn segmentation offload off",
	"thread-hangs":       "a thread of the switch does not look at its ports: start the switch again; -v says more",
	"vlan-filtered":      "the port drops a VLAN that its host uses: add it to tagged",
	"vlan-unmapped":      "a VLAN interface of the host sets no priority: give it an egress-qos-map",
	"xdp":                "an XDP program may keep frames: take it off",
	"xoff-late":          "this machine ran the switch too late: give it a CPU of its own",
}
