package demo

import (
	"cmp"
	"slices"
)

// A Report is what a demo found. Its JSON is fixed; more keys may come.
type Report struct {
	Schema   int            `json:"schema"`
	Demo     string         `json:"demo"`
	Pass     bool           `json:"pass"`
	Seconds  float64        `json:"seconds"`
	Machine  string         `json:"machine_limit"` // why the machine, not the switch, decided; empty where it did not
	Checks   []Check        `json:"checks"`
	Flows    []Flow         `json:"flows"`
	Switches []SwitchResult `json:"switches"`
	Acts     []ActResult    `json:"acts"`
	Timeline []Moment       `json:"timeline"`

	Transfers []Transfer   `json:"transfers"` // of demo host
	Links     []LinkResult `json:"links"`     // of demo headroom
	Quick     bool         `json:"quick"`     // only some of its links
	Open      []Open       `json:"not_judged"`

	// Of demo trunk only.
	Meters       []Metered      `json:"meters"`
	Distribution []Distribution `json:"distribution"`
}

// A Check is one thing that had to hold. Kind rate marks what a noisy machine can spoil: rates, shares, fairness.
type Check struct {
	Act  string `json:"act"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Pass bool   `json:"pass"`

	Machine string `json:"spoiled_by"` // why the machine, not the switch, made it fail; empty where it did not
}

// An Open is what was looked at and could not be judged, and why. It decides nothing.
type Open struct {
	Act  string `json:"act"`
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Why  string `json:"why"`
}

// The kinds of checks.
const (
	KindLoss     = "loss"
	KindOrder    = "order"
	KindPFC      = "pfc"
	KindCounters = "counters"
	KindControl  = "control"
	KindRate     = "rate"
	KindRun      = "run"
	KindDeadlock = "deadlock"
	KindMeasured = "measured" // a time by the kernel's stamps, and what no machine can make of it
)

// A Flow is one priority of one sender.
type Flow struct {
	Act        string    `json:"act"`
	Name       string    `json:"name"`
	Priority   uint8     `json:"priority"`
	Lossless   bool      `json:"lossless"`
	Sent       uint64    `json:"sent"`
	Received   uint64    `json:"received"`
	Lost       uint64    `json:"lost"`
	Reordered  uint64    `json:"reordered"`
	Duplicated uint64    `json:"duplicated"`
	Latency    Latencies `json:"latency_ns"`
	// Rate is what arrived while all senders were sending, in bit/s on the wire.
	Rate int64 `json:"rate_bits_per_second"`
}

// A Transfer is what one program sent by TCP.
type Transfer struct {
	Act      string `json:"act"`
	Name     string `json:"name"`
	Program  string `json:"program"`
	Priority uint8  `json:"priority"`
	Lossless bool   `json:"lossless"`
	Octets   uint64 `json:"octets"`               // of payload that arrived
	Again    uint64 `json:"segments_sent_again"`  // by the sender's kernel, whatever for
	Rate     int64  `json:"rate_bits_per_second"` // of payload
}

// Latencies are quantiles of the one-way latency in ns.
type Latencies struct {
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// A SwitchResult is what a switch said of itself at the end of an act.
type SwitchResult struct {
	Act           string     `json:"act"`
	Name          string     `json:"name"`
	LosslessDrops uint64     `json:"lossless_drops"`
	PFCSent       uint64     `json:"pfc_sent"` // frames
	Headroom      []Headroom `json:"headroom"`
}

// Headroom is the headroom of one ingress queue.
type Headroom struct {
	Port       string `json:"port"`
	Priority   int    `json:"priority"`
	Configured int64  `json:"configured_bytes"`
	Peak       int64  `json:"peak_bytes"`
}

// An ActResult says what an act was.
type ActResult struct {
	Act     string  `json:"act"`
	Title   string  `json:"title"`
	LockUp  bool    `json:"lock_up"`    // the lossless priority is locked up for good, or frames of it are dropped to end that
	Control bool    `json:"control"`    // a run without flow control, which has to lose frames
	Waiting float64 `json:"wait_share"` // of the run that the threads of a process waited for a CPU, the most
	Behind  float64 `json:"behind"`     // of what the slowest sender should have sent

	LongestStall int64 `json:"longest_stall_ns"` // of a sender
}

// Metered is how the frames of one priority fared in a trunk's meters, and how the same load fares under virtual time.
type Metered struct {
	Act      string  `json:"act"`
	Priority uint8   `json:"priority"`
	What     string  `json:"what"`
	CIR      int64   `json:"cir_bits_per_second"`
	PIR      int64   `json:"pir_bits_per_second"`
	Real     outcome `json:"real"`
	Model    outcome `json:"virtual"`
	Stalled  outcome `json:"virtual_with_stalls"` // where senders stand still as they did
}

// Distribution is how a trunk gave the frames of its uplink to members. Bytes are with FCS.
type Distribution struct {
	Act       string   `json:"act"`
	By        string   `json:"by"`
	Members   []uint64 `json:"member_bytes"`
	Imbalance float64  `json:"imbalance"` // of the member that is farthest from the mean, as a share of it
	Sent      uint64   `json:"sent"`
	Reordered uint64   `json:"reordered"`
	Overtaken uint64   `json:"overtaken_bytes"` // of later frames that came before one, the most
	// Under virtual time: by how many bytes a frame of 1522 in second place among frames of 64 is overtaken, by formula and
	// as it happens, and the imbalance of a random mixed stream.
	Formula        int64   `json:"overtaken_formula_bytes"`
	Model          int64   `json:"overtaken_virtual_bytes"`
	ModelImbalance float64 `json:"virtual_imbalance"`
}

func (r *Report) check(act, kind, name, want, got string, pass bool) {
	r.Checks = append(r.Checks, Check{Act: act, Name: name, Kind: kind, Want: want, Got: got, Pass: pass})
}

// spoiled notes why it was the machine that made the last check fail.
func (r *Report) spoiled(why string) { r.Checks[len(r.Checks)-1].Machine = why }

// leave notes what could not be judged.
func (r *Report) leave(act, name, want, got, why string) {
	r.Open = append(r.Open, Open{act, name, want, got, why})
}

// broke notes that processes of an act did not do what they had to once its load was on its way: that is a failure of
// the program.
func (r *Report) broke(a *act, err error) {
	r.check(a.name, KindRun, "every process runs to the end", "yes", err.Error(), false)
}

// NotJudged tells whether the machine was the limit, which says nothing about the switch. Processes that broke are no
// matter of the machine.
func (r *Report) NotJudged() bool {
	return r.Machine != "" && !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Kind == KindRun && !c.Pass })
}

// inexcusable tells whether a check has failed that a machine that stands still does not excuse.
func (r *Report) inexcusable() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.Pass && c.Kind != KindRate })
}

// merge takes what one run of several has shown.
func (r *Report) merge(one *Report) {
	if r.Machine == "" {
		r.Machine = one.Machine
	}
	r.Checks, r.Flows, r.Switches = append(r.Checks, one.Checks...), append(r.Flows, one.Flows...), append(r.Switches, one.Switches...)
	r.Acts, r.Links, r.Open = append(r.Acts, one.Acts...), append(r.Links, one.Links...), append(r.Open, one.Open...)
}

// judge sets Pass: every check has passed, and there were some. Where all that failed are checks that the machine has spoiled, it was
// the limit.
func (r *Report) judge() {
	r.Pass = len(r.Checks) > 0
	for _, c := range r.Checks {
		r.Pass = r.Pass && c.Pass
	}
	r.Machine = r.limit()
}

// limit is why the machine, not the switch, decided: of the whole run, or of each check that failed.
func (r *Report) limit() (why string) {
	if r.Machine != "" {
		return r.Machine
	}
	for _, c := range r.Checks {
		if !c.Pass && c.Machine == "" {
			return ""
		}
		why = cmp.Or(why, c.Machine)
	}
	return why
}
