package bench

import (
	"fmt"
	"os"
	"regexp"

	"golang.org/x/sys/unix"
)

// What the switches of a comparison have not in common is said beside its figures.

// ringOfSender finds in scripts/bench.yaml what receive rings the senders' ports have.
var ringOfSender = regexp.MustCompile(`p1: .*ring: (\{[^}]*\})`)

// notePFC says what receive rings pfcswitch has where its senders are.
func (n *network) notePFC() error {
	text, err := os.ReadFile("scripts/bench.yaml")
	if err != nil {
		return err
	}
	ring := ringOfSender.FindSubmatch(text)
	if ring == nil {
		return fmt.Errorf("scripts/bench.yaml says nothing of the ring of p1")
	}
	var said struct {
		Ports []struct {
			Port string
			Ring struct{ Slots int }
		}
	}
	if err := n.show(&said, "buffer"); err != nil {
		return err
	}
	for _, p := range said.Ports {
		if p.Port == "p1" {
			n.b.once("pfcswitch: every feature and the metrics on; the receive rings of its senders' ports are deep: %s of scripts/bench.yaml, %d slots for lossless frames alone.",
				ring[1], p.Ring.Slots)
		}
	}
	return nil
}

// noteBridge says what the bridge does not do.
func (n *network) noteBridge() {
	n.b.once("Linux bridge: without VLAN filtering, its default, while pfcswitch filters; it forwards in the sender's call and needs no receive ring.")
}

// noteOVS says what limits Open vSwitch's sockets, and the nice value that it really has.
func (b *bench) noteOVS(vswitchd *process) error {
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, vswitchd.pid())
	if err != nil {
		return fmt.Errorf("nice value of ovs-vswitchd: %w", err)
	}
	b.once("Open vSwitch: a rule for each host that receives, before NORMAL; ovs-vswitchd has nice %d; its packet sockets have the system's receive buffer, "+
		"%s octets (net.core.rmem_default), super-frames included: what does not fit is lost, and TCP sends it again.", kernelNice-nice, line("/proc/sys/net/core/rmem_default"))
	return nil
}

// kernelNice is what the system call's answer, 1 to 40, is subtracted from (getpriority(2)).
const kernelNice = 20

// noteTwins says what it does to the memory of Open vSwitch that it runs twice.
func (b *bench) noteTwins() {
	if b.present(ofOVS) && b.present(ofOVSTSO) {
		b.once("Open vSwitch runs twice, with and without TSO: the PSS of each is without half of the pages of their common programs, RSS with all.")
	}
}
