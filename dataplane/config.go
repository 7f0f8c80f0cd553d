package dataplane

import (
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// NumPriorities is the number of priorities, ingress queues and egress queues of a port.
const NumPriorities = 8

// MaxPorts is the largest number of ports of a switch.
const MaxPorts = 256

// Config is the configuration of the whole switch.
type Config struct {
	Buffer   buffer.Config
	Lossless uint8 // priorities that are lossless in this network, bit n = priority n
	// Demote sends frames of a lossless priority that would have to be flooded through the lossy pool and the queue
	// of the lowest lossy priority; false drops them. Flooding under flow control deadlocks (SIGCOMM 2016, RDMA over
	// commodity Ethernet at scale).
	Demote bool
	Ageing time.Duration // after which a learned address is forgotten
	// Stations bounds the filtering database, static entries included; 0 is bridge.DefaultMaxEntries. Only New reads
	// it.
	Stations int
	// Salt is what tells the switch's choices among the ports of a group from those of other switches, such as a hash
	// of its name. Only New reads it.
	Salt uint64
	// Measurement is the form of the frames that measure headroom.
	Measurement macctl.MeasurementFormat
	// Identity marks the switch's own loop probes; it is random per run.
	Identity bridge.Identity
	// Trunks join some of the ports. A port belongs to one trunk at most, and else to the bridge. Only Reconfigure
	// reads Trunks.
	Trunks []TrunkConfig
	// Suspect, if set, is called when Suspects has a new port. It must not block, nor call the switch.
	Suspect func()
}

// PortConfig is the configuration of one port.
type PortConfig struct {
	Name string
	MAC  [6]byte
	TAP  bool // the port leads to the stack of the host

	Speed int64 // bit/s that egress is shaped to; 0 is no limit, and pause quanta count as at macctl.NominalSpeed
	Burst int64 // depth of the shaper's bucket in octets on the wire
	Delay int64 // ns that everything sent is delayed

	MaxFrame  int  // largest frame that is carried, octets without FCS
	StripZero bool // a priority tag (VID 0) is removed on untagged egress
	Cut       bool // GSO frames are segmented and checksums completed on arrival

	Mode     macctl.Mode
	Lossless uint8 // priorities that PFC is enabled for; all of them where Mode is PAUSE
	// Asymmetric makes PFC be obeyed for all priorities, and still be sent for those of Lossless only.
	Asymmetric bool
	Quanta     uint16
	Remain     bool // state the free buffer in XOFF frames instead of Quanta

	Prober HeadroomProber // measures the headroom of the link; nil where nothing measures
	Follow uint8          // ingress queues whose headroom SetHeadroom changes, bit n = queue n
	// FollowXon are the ingress queues whose resume threshold SetXon changes.
	FollowXon uint8

	Classify classify.Config
	Ingress  [NumPriorities]buffer.QueueConfig // lossless ingress queues; index 0 stands for all where Mode is PAUSE
	Egress   [NumPriorities]sched.Queue
	ECN      [NumPriorities]ECN
	Bridge   bridge.PortConfig
	Packet   bool // frames leave by a packet socket, also where there is a faster way
}

// ECN is congestion marking of one egress queue by its instantaneous length (DCQCN): below Kmin nothing is marked,
// from Kmin to Kmax with a probability that rises to Pmax, above Kmax everything. Kmax 0 is off.
type ECN struct {
	Kmin, Kmax int64 // octets
	Pmax       float64
}

// LosslessPriorities are those whose peer flow control stops, bit n = priority n: all where Mode is PAUSE, none where
// it is off.
func (c *PortConfig) LosslessPriorities() uint8 { return c.Mode.Lossless(c.Lossless) }

// Obeyed are the priorities whose PFC is obeyed, bit n = priority n; all where Mode is PAUSE, none where it is off.
func (c *PortConfig) Obeyed() uint8 {
	if c.Asymmetric {
		return c.Mode.Lossless(0xff)
	}
	return c.LosslessPriorities()
}

// SendLimit is the largest number of octets of one send call beyond its first frame: 50 µs at a speed in bit/s, where 0
// is macctl.NominalSpeed. So much may still follow after XOFF arrived.
func SendLimit(speed int64) int64 { return macctl.SpeedOrNominal(speed) / 8 * 50 / 1_000_000 }
