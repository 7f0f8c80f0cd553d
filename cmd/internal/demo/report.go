package demo

import "pfcswitch/cmd/internal/traffic"

// A Report is the result of a demo. Its JSON keys are fixed; new ones may be added.
type Report struct {
	Schema      int     `json:"schema"`
	Demo        string  `json:"demo"`
	Pass        bool    `json:"pass"`
	CouldNotRun string  `json:"could_not_run"` // why a control run proves nothing; empty where it does
	Seconds     float64 `json:"seconds"`
	// of the hosts' ports, in bit/s; 0 in demo headroom, whose links have 100 Mbit/s and 1 Gbit/s
	Speed       int64          `json:"speed"`
	Calibration *Calibration   `json:"calibration"` // null where the user gave the speed
	Checks      []Check        `json:"checks"`
	Flows       []Flow         `json:"flows"`
	Switches    []SwitchResult `json:"switches"`
	Phases      []PhaseResult  `json:"acts"`
	Timeline    []Moment       `json:"timeline"`

	whole bool // every phase ran to its end

	Transfers []Transfer   `json:"transfers"` // of demo host
	Links     []LinkResult `json:"links"`     // of demo headroom
	Quick     bool         `json:"quick"`     // only some of its links

	Congestion []Congestion `json:"congestion"` // of demo dcqcn

	// Of demo trunk only.
	Meters       []Metered      `json:"meters"`
	Distribution []Distribution `json:"distribution"`
}

// A Flow is one priority of one sender.
type Flow struct {
	Phase      string            `json:"act"`
	Name       string            `json:"name"`
	Priority   uint8             `json:"priority"`
	Lossless   bool              `json:"lossless"`
	Sent       uint64            `json:"sent"`
	Received   uint64            `json:"received"`
	Lost       uint64            `json:"lost"`
	Reordered  uint64            `json:"reordered"`
	Duplicated uint64            `json:"duplicated"`
	Latency    traffic.Latencies `json:"latency_ns"`
	// Rate is the rate of arrival while all senders were sending, in bit/s on the wire.
	Rate int64 `json:"rate_bits_per_second"`
}

// A Transfer is one TCP connection.
type Transfer struct {
	Phase         string `json:"act"`
	Name          string `json:"name"`
	Program       string `json:"program"`
	Priority      uint8  `json:"priority"`
	Lossless      bool   `json:"lossless"`
	Octets        uint64 `json:"octets"`               // of payload that arrived
	Retransmitted uint64 `json:"segments_sent_again"`  // by the sender's kernel, whatever for
	Rate          int64  `json:"rate_bits_per_second"` // of payload
}

// A SwitchResult has counters of a switch at the end of a phase.
type SwitchResult struct {
	Phase         string     `json:"act"`
	Name          string     `json:"name"`
	LosslessDrops uint64     `json:"lossless_drops"`
	Discarded     uint64     `json:"lossless_discarded_frames"` // of lossless priorities, on purpose
	PFCSent       uint64     `json:"pfc_sent"`                  // frames
	Headroom      []Headroom `json:"headroom"`
}

// Headroom is the headroom of one ingress queue.
type Headroom struct {
	Port       string `json:"port"`
	Priority   int    `json:"priority"`
	Configured int64  `json:"configured_bytes"`
	Peak       int64  `json:"peak_bytes"`
}

// A PhaseResult describes a phase and what the machine withheld from it.
type PhaseResult struct {
	Phase string `json:"act"`
	Title string `json:"title"`
	// the lossless priority is locked up for good, or frames of it are dropped to end that
	LockUp  bool `json:"lock_up"`
	Control bool `json:"control"` // a run without flow control, which has to lose frames
	// of the load's time that the threads of a process waited for a CPU, the most
	RunQueueDelay float64 `json:"wait_share"`
	Steal         float64 `json:"steal_share"` // of the CPUs' time that the hypervisor gave to others
	CPUs          float64 `json:"cpus"`        // that all processes of the phase kept busy, in the mean
	Behind        float64 `json:"behind"`      // of what the slowest sender should have sent

	LongestStall int64 `json:"longest_stall_ns"` // of a sender

	course *course // nil where nothing was recorded
}

// Metered has the colours of one priority's frames in a trunk's meters, and those of the same load under virtual time.
type Metered struct {
	Phase    string  `json:"act"`
	Priority uint8   `json:"priority"`
	What     string  `json:"what"`
	CIR      int64   `json:"cir_bits_per_second"`
	PIR      int64   `json:"pir_bits_per_second"`
	Real     outcome `json:"real"`
	Model    outcome `json:"virtual"`
}

// Distribution is how a trunk distributed the frames of its uplink to members. Bytes are with FCS.
type Distribution struct {
	Phase     string   `json:"act"`
	By        string   `json:"by"`
	Members   []uint64 `json:"member_bytes"`
	Imbalance float64  `json:"imbalance"` // of the member that is farthest from the mean, as a share of it
	Sent      uint64   `json:"sent"`
	Reordered uint64   `json:"reordered"`
	Overtaken uint64   `json:"overtaken_bytes"` // of later frames that came before one, the most
	// Formula is by how many bytes a frame of 1522 in second place among frames of 64 is overtaken where all reach idle
	// members at once.
	Formula int64 `json:"overtaken_formula_bytes"`
}
