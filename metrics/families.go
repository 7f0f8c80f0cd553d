package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// prefix stands before every name.
const prefix = "pfcswitch_"

const (
	counter   = prometheus.CounterValue
	gauge     = prometheus.GaugeValue
	histogram = prometheus.UntypedValue // the metric itself says what it is
)

// A family is a metric with all its series.
type family struct {
	index  int    // in families
	name   string // with prefix
	kind   prometheus.ValueType
	help   string
	labels []string
	sorted []int // positions of the labels in the order of their names, which is that of the protocol
	desc   *prometheus.Desc
}

// families has all metrics, in the order of their declaration.
var families []*family

func newFamily(name string, kind prometheus.ValueType, help string, labels []string) *family {
	f := &family{index: len(families), name: prefix + name, kind: kind, help: help, labels: labels,
		desc: prometheus.NewDesc(prefix+name, help, labels, nil)}
	for i := range labels {
		f.sorted = append(f.sorted, i)
	}
	slices.SortFunc(f.sorted, func(i, j int) int { return cmp.Compare(labels[i], labels[j]) })
	families = append(families, f)
	return f
}

var (
	byPort         = []string{"port"}
	byPriority     = []string{"port", "priority"}
	bySegment      = []string{"pool", "segment"}
	byTrunk        = []string{"trunk", "priority"}
	byColour       = []string{"trunk", "member", "priority", "colour"}
	byTrunkMember  = []string{"trunk", "member", "priority"}
	byTrunkPort    = []string{"trunk", "port", "priority"}
	byQueueSegment = []string{"port", "priority", "segment"}
)

// All metrics.
var (
	up        = newFamily("up", gauge, "1 while the switch runs.", nil)
	buildInfo = newFamily("build_info", gauge, "1, labelled by what runs.",
		[]string{"version", "revision", "goversion"})

	portUp = newFamily("port_up", gauge,
		"1 where the port's link is up, 0 where it is down or the interface does not exist.", byPort)
	portSpeed = newFamily("port_speed_bits_per_second", gauge,
		"Rate that the port is shaped to; 0 where it has no shaper.",
		byPort)
	portLoop = newFamily("port_loop", gauge,
		"1 while the port's flooding is off since a loop was found: an own probe came back.", byPort)
	receiveFrames = newFamily("receive_frames_total", counter, "Data frames received, after GSO frames were cut.",
		byPort)
	receiveBytes   = newFamily("receive_bytes_total", counter, "Bytes of received data frames, without FCS.", byPort)
	transmitFrames = newFamily("transmit_frames_total", counter, "Data frames that the kernel took.", byPort)
	transmitBytes  = newFamily("transmit_bytes_total", counter, "Bytes of transmitted data frames, without FCS.",
		byPort)

	drops = newFamily("drops_total", counter,
		"Frames not forwarded, where they came in, by their priority there (unknown: lost in a receive ring).",
		[]string{"port", "priority", "reason"})
	losslessDrops = newFamily("lossless_drops_total", counter,
		"Frames of lossless priorities that were lost. Must stay 0.",
		byPriority)

	allLosslessDrops = newFamily("lossless_drops_all_ports_total", counter,
		"Frames of lossless priorities that were lost at all ports, those too that are no longer configured. Must "+
			"stay 0.", nil)

	pfcReceived = newFamily("pfc_received_frames_total", counter,
		"PFC frames received that name the priority, obeyed or not.", byPriority)
	pfcSent = newFamily("pfc_sent_frames_total", counter, "PFC frames sent that name the priority.",
		byPriority)
	pfcReceivedPaused = newFamily("pfc_received_paused_seconds_total", counter,
		"Time for which the peer held the priority here, by PFC or (all) by PAUSE.", byPriority)
	pfcSentPaused = newFamily("pfc_sent_paused_seconds_total", counter,
		"Time for which the peer was held from here, by PFC or (all) by PAUSE.", byPriority)
	pauseReceived = newFamily("pause_received_frames_total", counter, "802.3x PAUSE frames received, obeyed or not.",
		byPort)
	pauseSent      = newFamily("pause_sent_frames_total", counter, "802.3x PAUSE frames sent.", byPort)
	controlIgnored = newFamily("mac_control_ignored_frames_total", counter,
		"MAC Control frames that were ignored, wholly or in part (vector: obeyed, but malformed).",
		[]string{"port", "reason"})

	bufferSize = newFamily("buffer_size_bytes", gauge, "Size of a segment of a buffer pool.", bySegment)
	bufferUsed = newFamily("buffer_used_bytes", gauge, "Bytes held in a segment of a buffer pool, in whole cells.",
		bySegment)
	bufferUsedMax = newFamily("buffer_used_max_bytes", gauge,
		"Most bytes held in a segment of a buffer pool since the start.",
		bySegment)

	ingressQueue = newFamily("ingress_queue_bytes", gauge, "Bytes that a lossless ingress queue holds in a segment.",
		byQueueSegment)
	ingressQueueHeadroom = newFamily("ingress_queue_headroom_bytes", gauge,
		"Bytes that a lossless ingress queue holds in its headroom.", byPriority)
	ingressQueueHeadroomPeak = newFamily("ingress_queue_headroom_peak_bytes", gauge,
		"Most bytes that a lossless ingress queue held in its headroom since the start.", byPriority)

	ringHoldSeconds = newFamily("ring_hold_seconds_total", counter,
		"Time for which a lossless frame waited in the receive ring for buffer.", byPort)
	ringHoldBytes = newFamily("ring_hold_bytes_total", counter,
		"Bytes of lossless frames that waited in the receive ring for buffer.", byPort)
	ringFramesMax = newFamily("ring_frames_max", gauge, "Most frames seen waiting in the lossless receive rings.",
		byPort)
	overspeed = newFamily("overspeed_frames_total", counter,
		"Frames that arrived faster than the port's speed and burst.",
		byPort)

	egressQueue    = newFamily("egress_queue_bytes", gauge, "Bytes that wait in an egress queue.", byPriority)
	egressQueueMax = newFamily("egress_queue_max_bytes", gauge, "Most bytes that waited in an egress queue.",
		byPriority)
	egressQueueSent = newFamily("egress_queue_transmit_frames_total", counter, "Frames that left an egress queue.",
		byPriority)
	ecnMarked = newFamily("ecn_marked_frames_total", counter,
		"Frames marked congestion experienced on an egress queue.",
		byPriority)

	headroomCalculated = newFamily("headroom_calculated_bytes", gauge,
		"Headroom that a lossless ingress queue needs by calculation.", byPriority)
	headroomConfigured = newFamily("headroom_configured_bytes", gauge, "Headroom of a lossless ingress queue in force.",
		byPriority)
	headroomMeasured = newFamily("headroom_measured_bytes", gauge,
		"Headroom that a lossless ingress queue needs by measurement, of this end or by what the peer found.",
		byPriority)
	headroomManual = newFamily("headroom_manual_required", gauge,
		"1 where the headroom is to be measured and cannot be: set it by hand.", byPort)
	headroomUsedMax = newFamily("headroom_used_max_bytes", gauge,
		"Most bytes on the wire that came for a lossless ingress queue after an XOFF had left.", byPriority)
	headroomMessages = newFamily("headroom_messages_total", counter,
		"Measurement frames by what became of them: asked, answered, lost, replied; results and streams of the peer; "+
			"or the reason to ignore them.", []string{"port", "outcome"})
	headroomTurn = newFamily("headroom_turnaround_seconds", gauge,
		"Time for which the peer keeps a request to measure headroom, by percentile of the newest samples, while the "+
			"link is idle and while it is busy.", []string{"port", "load", "percentile"})

	headroomTrip = newFamily("headroom_trip_seconds", gauge,
		"Time t of the headroom formula, there and back, by percentile of the newest samples.",
		[]string{"port", "percentile"})
	headroomValue = newFamily("headroom_value_bytes", gauge,
		"Headroom of a port by each way to find it: eta and delay are formulas, plain is measured without the peer's "+
			"reaction and burst, peer is what that has found, received what it means here, told what it was told, "+
			"peer_has what is in force there, target what should be in force.", []string{"port", "value"})
	headroomPart = newFamily("headroom_part_bytes", gauge, "Parts of the headroom that this end has measured.",
		[]string{"port", "part"})
	headroomAgreed = newFamily("headroom_agreed", gauge, "1 where both ends of the link measure its headroom.", byPort)
	headroomXoffs  = newFamily("headroom_xoffs_total", counter, "How often the peer was told to stop.", byPriority)
	headroomBefore = newFamily("headroom_before_xoff_max_bytes", gauge,
		"Most bytes on the wire that had come before an XOFF left, and were looked at after.", byPriority)
	headroomWaited = newFamily("headroom_waited_frames_total", counter,
		"Frames that came after an XOFF had left, found no room and waited in the receive ring: behind what came "+
			"after it too (the headroom was too small), or what had come before.",
		[]string{"port", "priority", "behind"})

	headroomExceeded = newFamily("headroom_exceeded_total", counter,
		"XOFFs after which more bytes came than the headroom that was in force, or found, as they left. Must stay 0.",
		byPriority)
	headroomLeastLeft = newFamily("headroom_least_left_bytes", gauge,
		"Least that what came after an XOFF left of the headroom that was in force, or found, as it left; below 0 "+
			"where it did not suffice.", byPriority)
	headroomSilent = newFamily("headroom_silent", gauge,
		"1 where the peer has agreed to measure headroom and does not answer.", byPort)
	headroomAuto = newFamily("headroom_auto", gauge, "1 where the headroom of a lossless queue follows what is found.",
		byPort)
	headroomPasses = newFamily("headroom_control_frames_pass", gauge,
		"1 where MAC Control frames (0x8808) pass the link both ways; 0 where they do not and others do, so that the "+
			"port is lossy. Missing while nobody knows.", byPort)
	headroomTold = newFamily("headroom_told", gauge, "1 where the peer has acknowledged what it was told last.",
		byPort)
	headroomFound = newFamily("headroom_found_seconds", gauge,
		"Times that the measured headroom is computed of: trip is t, precision what a stamp may be wrong by, "+
			"reaction is R.", []string{"port", "term"})
	headroomSendLimit = newFamily("headroom_peer_send_call_bytes", gauge,
		"S of the formula, the peer's largest send call; missing where it states none.", byPort)
	headroomXon = newFamily("headroom_xon_bytes", gauge, "Resume threshold of a lossless ingress queue in force.",
		byPriority)
	headroomXonMeasured = newFamily("headroom_xon_measured_bytes", gauge,
		"Resume threshold that the link needs by measurement.",
		byPort)
	headroomFormulaPart = newFamily("headroom_formula_part_bytes", gauge,
		"Parts of the headrooms by formula: eta, delay, and the calculated one, which is the larger of both with "+
			"what else may come.", []string{"port", "formula", "part"})
	headroomReaction = newFamily("headroom_reaction_seconds", gauge,
		"Time from XOFF received to the end of the last send call of its priority, by percentile of the newest "+
			"samples, while the link is idle, while it is busy (more than a tenth of its speed), and at any time, "+
			"which is what the peer is told. A priority that had nothing to send has none.",
		[]string{"port", "load", "percentile"})
	headroomSamples = newFamily("headroom_samples", gauge,
		"Newest samples that percentiles are made of: of trips, of turn-arounds at the peer while the link is idle "+
			"or busy, of this end's reactions, and of those while it is idle or busy.", []string{"port", "of"})

	pauseReaction = newFamily("pause_reaction_seconds", histogram,
		"Time from XOFF received to the end of the last send call of its priority.", byPort)
	delayLate = newFamily("delay_late_seconds", histogram,
		"Time by which each frame left the delay line of its port too late: the line is software, which waits for a "+
			"CPU now and then.", byPort)
	pauseReceivedTime = newFamily("pause_received_duration_seconds", histogram,
		"Length of each pause of a priority, or of the port, by the peer, from the first XOFF to XON or expiry.",
		byPort)
	pauseSentTime = newFamily("pause_sent_duration_seconds", histogram,
		"Length of each pause of a priority of the peer, or of the peer, from here.", byPort)
	xoffReaction = newFamily("xoff_reaction_seconds", histogram,
		"Time from the admission that crosses a threshold to the send call of XOFF.", nil)

	xoffArrivalReaction = newFamily("xoff_arrival_reaction_seconds", histogram,
		"Time from the arrival of the frame that crosses a threshold, by the kernel's stamp, to the send call of XOFF.",
		nil)

	watchdogDetected = newFamily("watchdog_detected_total", counter, "Deadlocks detected on an egress queue.",
		byPriority)
	watchdogRecovered = newFamily("watchdog_recovered_total", counter,
		"Deadlocks of an egress queue that were restored: detection started again.", byPriority)
	watchdogRecurred = newFamily("watchdog_recurred_total", counter,
		"Times that PFC was switched off on an egress queue since its deadlock kept coming back.", byPriority)
	watchdogSent = newFamily("watchdog_storm_sent_frames_total", counter,
		"Frames that left an egress queue during its deadlocks.", byPriority)
	watchdogDropped = newFamily("watchdog_storm_dropped_frames_total", counter,
		"Frames that were dropped from an egress queue to break its deadlocks.", byPriority)
	watchdogBlocked = newFamily("watchdog_blocked", gauge,
		"1 while an egress queue counts as locked up: from detection to recovery, or while PFC is off since the "+
			"deadlock keeps coming back.", byPriority)

	kernelBacklogDrops = newFamily("kernel_backlog_drops_total", counter,
		"Frames that the kernel dropped before any receive ring, on the whole machine since its boot.", nil)
	tapDrops = newFamily("tap_drops_total", counter,
		"Frames of the host that the kernel dropped because their queue towards the TAP was full.", byPort)
	captureMissing = newFamily("capture_missing_frames_total", counter,
		"Frames that a capture wanted and that were overwritten before it came to them.", nil)
	eventReadersCut = newFamily("event_readers_cut_off_total", counter,
		"Readers of the stream of events that were too slow, and cut off.", nil)
	fdbEntries = newFamily("fdb_entries", gauge, "Entries of the filtering database.", nil)
	fdbMoves   = newFamily("fdb_moves_total", counter,
		"Stations that went from one port to another, as after a move, or in a loop.", nil)
	fdbNotLearned = newFamily("fdb_not_learned_frames_total", counter,
		"Frames whose source was not learned since the filtering database was full.", nil)

	trunkBytes = newFamily("trunk_bytes", gauge,
		"Bytes, with FCS, that wait in a trunk to leave by the uplink or by members.",
		[]string{"trunk", "priority", "to"})
	trunkMemberBytes = newFamily("trunk_member_bytes", gauge,
		"Bytes, with FCS, of a member's share that wait for the uplink, or of its area that are to leave by it.",
		[]string{"trunk", "member", "to"})
	trunkMeteredFrames = newFamily("trunk_metered_frames_total", counter,
		"Frames that came by a member, by the colour of their priority's meter (green without meters); member all, "+
			"priority total: those yellow before, by the total's meter.", byColour)
	trunkMeteredBytes = newFamily("trunk_metered_bytes_total", counter,
		"Bytes, with FCS, of the frames of trunk_metered_frames_total.", byColour)
	trunkREDDrops = newFamily("trunk_red_drops_total", counter,
		"Frames that random early discard of a priority, or of the total, dropped.", byTrunk)
	trunkMeterDrops = newFamily("trunk_meter_drops_total", counter, "Frames that were dropped for being red.",
		byTrunk)
	trunkDistributedFrames = newFamily("trunk_distributed_frames_total", counter,
		"Frames of the uplink that were given to a member.", byTrunkMember)
	trunkDistributedBytes = newFamily("trunk_distributed_bytes_total", counter,
		"Bytes, with FCS, of the uplink that were given to a member.", byTrunkMember)
	trunkHeld = newFamily("trunk_held", gauge,
		"1 while the trunk holds the peer of one of its ports, for a priority or (all) as a whole.", byTrunkPort)
	trunkHolds = newFamily("trunk_holds_total", counter,
		"Holds of the peer of one of its ports that the trunk began, for a priority or (all) as a whole.", byTrunkPort)
	lldpNeighbors = newFamily("lldp_neighbors", gauge, "Neighbors that speak LLDP on the port's link.", byPort)
	dcbxMismatch  = newFamily("dcbx_mismatch", gauge,
		"1 where both ends of the link do not agree which priorities are lossless.", byPort)
)

// byName has the families in the order of their names. Its declaration stands behind those of the families, which fill
// it.
var byName = slices.SortedFunc(slices.Values(families), func(f, g *family) int { return cmp.Compare(f.name, g.name) })

// Families returns the labels of every metric that a Collector can export, by the metric's full name.
func Families() map[string][]string {
	labels := make(map[string][]string, len(families))
	for _, f := range families {
		labels[f.name] = slices.Clone(f.labels)
	}
	return labels
}
