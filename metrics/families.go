package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// prefix stands before every name.
const prefix = "pfcswitch_"

// A family is a metric with all its series.
type family struct {
	index  int    // in families
	name   string // with prefix
	kind   dto.MetricType
	help   string
	labels []string
	sorted []int // positions of the labels in the order of their names, which is that of the protocol
	desc   *prometheus.Desc
}

// families has all metrics, in the order of their declaration.
var families []*family

func counter(name, help string, labels ...string) *family {
	return newFamily(dto.MetricType_COUNTER, name, help, labels)
}

func gauge(name, help string, labels ...string) *family {
	return newFamily(dto.MetricType_GAUGE, name, help, labels)
}

func histogram(name, help string, labels ...string) *family {
	return newFamily(dto.MetricType_HISTOGRAM, name, help, labels)
}

func newFamily(kind dto.MetricType, name, help string, labels []string) *family {
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
	up        = gauge("up", "1 while the switch runs.")
	buildInfo = gauge("build_info", "1, labelled by what runs.", "switch", "version", "revision", "goversion")

	portUp = gauge("port_up", "1 where the port's link is up, 0 where it is down or the interface does not exist.",
		byPort...)
	portSpeed = gauge("port_speed_bits_per_second", "Rate that the port is shaped to; 0 where it has no shaper.",
		byPort...)
	portLoop = gauge("port_loop", "1 while the port's flooding is off since a loop was found: an own probe came back.",
		byPort...)
	loopProbes = counter("loop_probes_received_frames_total", "Loop probes with this switch's identity, by what it "+
		"thinks of them: returns is a loop; used, late and forged ones are ignored.", "port", "verdict")
	receiveFrames  = counter("receive_frames_total", "Data frames received, after GSO frames were cut.", byPort...)
	receiveBytes   = counter("receive_bytes_total", "Bytes of received data frames, without FCS.", byPort...)
	transmitFrames = counter("transmit_frames_total", "Data frames that the kernel took.", byPort...)
	transmitBytes  = counter("transmit_bytes_total", "Bytes of transmitted data frames, without FCS.", byPort...)

	drops = counter("drops_total",
		"Frames not forwarded, where they came in, by their priority there (unknown: lost in a receive "+
			"ring).", "port", "priority", "reason")
	losslessDrops = counter("lossless_drops_total", "Frames of lossless priorities that were lost. Must stay 0.",
		byPriority...)

	losslessDiscarded = counter("lossless_discarded_total",
		"Frames of lossless priorities that were dropped on purpose, of drops_total.", "port", "priority", "reason")

	allLosslessDrops = counter("lossless_drops_all_ports_total",
		"Frames of lossless priorities that were lost at all ports, those too that are no longer configured. Must "+
			"stay 0.")
	allLosslessDiscarded = counter("lossless_discarded_all_ports_total",
		"Frames of lossless priorities that were dropped on purpose at all ports, those too that are no longer "+
			"configured.")

	pfcReceived = counter("pfc_received_frames_total", "PFC frames received that name the priority, obeyed or not.",
		byPriority...)
	pfcSent           = counter("pfc_sent_frames_total", "PFC frames sent that name the priority.", byPriority...)
	pfcReceivedPaused = counter("pfc_received_paused_seconds_total",
		"Time for which the peer held the priority here, by PFC or (all) by PAUSE.", byPriority...)
	pfcSentPaused = counter("pfc_sent_paused_seconds_total",
		"Time for which the peer was held from here, by PFC or (all) by PAUSE.", byPriority...)
	pauseReceived  = counter("pause_received_frames_total", "802.3x PAUSE frames received, obeyed or not.", byPort...)
	pauseSent      = counter("pause_sent_frames_total", "802.3x PAUSE frames sent.", byPort...)
	controlIgnored = counter("mac_control_ignored_frames_total",
		"MAC Control frames that were ignored, wholly or in part (vector: obeyed, but malformed).", "port", "reason")

	bufferSize = gauge("buffer_size_bytes", "Size of a segment of a buffer pool.", bySegment...)
	bufferUsed = gauge("buffer_used_bytes",
		"Bytes held in a segment of a buffer pool, in whole cells.", bySegment...)
	bufferUsedMax = gauge("buffer_used_max_bytes", "Most bytes held in a segment of a buffer pool since the start.",
		bySegment...)

	ingressQueue = gauge("ingress_queue_bytes", "Bytes that a lossless ingress queue holds in a segment.",
		byQueueSegment...)
	ingressQueueHeadroom = gauge("ingress_queue_headroom_bytes",
		"Bytes that a lossless ingress queue holds in its headroom.", byPriority...)
	ingressQueueHeadroomPeak = gauge("ingress_queue_headroom_peak_bytes",
		"Most bytes that a lossless ingress queue held in its headroom since the start.", byPriority...)

	ringHoldSeconds = counter("ring_hold_seconds_total",
		"Time for which a lossless frame waited in the receive ring for buffer.", byPort...)
	ringHoldBytes = counter("ring_hold_bytes_total",
		"Bytes of lossless frames that waited in the receive ring for buffer.", byPort...)
	ringFramesMax = gauge("ring_frames_max", "Most frames seen waiting in the lossless receive rings.", byPort...)
	assistXoffs   = counter("assist_xoff_total",
		"XOFFs for all lossless priorities of a port by a program in the kernel, because the switch did not look at "+
			"its frames.", byPriority...)
	assistForwarded = counter("assist_forwarded_frames_total",
		"Of the frames that left a port, those that a program in the kernel forwarded past the switch.", byPriority...)
	overspeed = counter("overspeed_frames_total", "Frames that arrived faster than the port's speed and burst.",
		byPort...)

	egressQueue     = gauge("egress_queue_bytes", "Bytes that wait in an egress queue.", byPriority...)
	egressQueueMax  = gauge("egress_queue_max_bytes", "Most bytes that waited in an egress queue.", byPriority...)
	egressQueueSent = counter("egress_queue_transmit_frames_total", "Frames that left an egress queue.", byPriority...)
	ecnMarked       = counter("ecn_marked_frames_total",
		"Frames that this switch marked congestion experienced on an egress queue.", byPriority...)

	headroomCalculated = gauge("headroom_calculated_bytes",
		"Headroom on the wire that a lossless ingress queue needs by calculation.", byPriority...)
	headroomConfigured = gauge("headroom_configured_bytes",
		"Headroom of a lossless ingress queue in force, in bytes of the buffer.",
		byPriority...)
	headroomMeasured = gauge("headroom_measured_bytes",
		"Headroom on the wire that a lossless ingress queue needs by measurement, of this end or by what the peer "+
			"found.", byPriority...)
	headroomManual = gauge("headroom_manual_required",
		"1 where the headroom is to be measured and cannot be: set it by hand.", byPort...)
	headroomUsedMax = gauge("headroom_used_max_bytes",
		"Most bytes on the wire that came for a lossless ingress queue after an XOFF had left.", byPriority...)
	headroomMessages = counter("headroom_messages_total",
		"Measurement frames by what became of them: asked, answered, lost, replied; results and streams of the "+
			"peer; or the reason to ignore them.", "port", "outcome")
	headroomTurn = gauge("headroom_turnaround_seconds",
		"Time for which the peer keeps a request to measure headroom, by percentile of the newest samples, while "+
			"the link is idle and while it is busy.", "port", "load", "percentile")

	headroomTrip = gauge("headroom_trip_seconds",
		"Time t of the headroom formula, there and back, by percentile of the newest samples.", "port", "percentile")
	headroomValue = gauge("headroom_value_bytes",
		"Headroom of a port by each way to find it: eta and delay are formulas, plain is measured without the "+
			"peer's reaction and burst, peer is what that has found, received what it means here, told what it was "+
			"told, peer_has what is in force there, target what should be in force, holds what is, needs what the "+
			"link seems to need where a bound allows no more than target: all on the wire.", "port", "value")
	headroomPart   = gauge("headroom_part_bytes", "Parts of the headroom that this end has measured.", "port", "part")
	headroomAgreed = gauge("headroom_agreed", "1 where both ends of the link measure its headroom.", byPort...)
	headroomXoffs  = counter("headroom_xoffs_total", "How often the peer was told to stop.", byPriority...)
	headroomBefore = gauge("headroom_before_xoff_max_bytes",
		"Most bytes on the wire that had come before an XOFF left, and were looked at after.", byPriority...)
	headroomWaited = counter("headroom_waited_frames_total",
		"Frames that found no room, and waited in the receive ring or were dropped: after an XOFF, behind what came "+
			"after it too (headroom too small) or what had come before; early ones had come before themselves; "+
			"pool: other queues filled the shared headroom pool.",
		"port", "priority", "behind")
	headroomLateXoffs = counter("headroom_late_xoffs_total",
		"XOFFs that left while frames that had come before lay in the receive ring.", byPriority...)
	headroomLateBytes = counter("headroom_before_xoff_bytes_total",
		"Bytes on the wire that had come before an XOFF left, and were looked at after.", byPriority...)
	headroomLateMax = gauge("headroom_late_max_seconds",
		"Longest time for which such a frame lay in the receive ring until XOFF left.", byPriority...)

	headroomExceeded = counter("headroom_exceeded_total",
		"XOFFs after which more bytes came than the headroom that was in force, or found, as they left. Must stay "+
			"0.", byPriority...)
	headroomLeastLeft = gauge("headroom_least_left_bytes",
		"Least that what came after an XOFF left of the headroom that was in force, or found, as it left; below 0 "+
			"where it did not suffice.", byPriority...)
	headroomSilent = gauge("headroom_silent", "1 where the peer has agreed to measure headroom and does not answer.",
		byPort...)
	headroomAuto = gauge("headroom_auto",
		"1 where the headroom of a lossless queue follows what is found.", byPort...)
	headroomPasses = gauge("headroom_control_frames_pass",
		"1 where MAC Control frames (0x8808) pass the link both ways; 0 where they do not and others do, so that "+
			"the port is lossy. Missing while nobody knows.", byPort...)
	headroomTold  = gauge("headroom_told", "1 where the peer has acknowledged what it was told last.", byPort...)
	headroomFound = gauge("headroom_found_seconds",
		"Times that the measured headroom is computed of: trip is t, precision what a stamp may be wrong by, "+
			"reaction is R.", "port", "term")
	headroomSendLimit = gauge("headroom_peer_send_call_bytes",
		"S of the formula, the peer's largest send call; missing where it states none.", byPort...)
	headroomXon = gauge("headroom_xon_bytes",
		"The xon of a lossless ingress queue that is in force.", byPriority...)
	headroomXonMeasured = gauge("headroom_xon_measured_bytes", "Resume threshold that the link needs by measurement.",
		byPort...)
	headroomFormulaPart = gauge("headroom_formula_part_bytes",
		"Parts of the headrooms by formula: eta, delay, and the calculated one, which is the larger of both with "+
			"what else may come.", "port", "formula", "part")
	headroomReaction = gauge("headroom_reaction_seconds",
		"Time from XOFF received to the end of the last send call of its priority, by percentile of the newest "+
			"samples, while the link is idle, while it is busy (more than a tenth of its speed), and at any time, "+
			"which is what the peer is told. A priority that had nothing to send has none.",
		"port", "load", "percentile")
	headroomSamples = gauge("headroom_samples",
		"Newest samples that percentiles are made of: of trips, of turn-arounds at the peer while the link is idle "+
			"or busy, of this end's reactions, and of those while it is idle or busy.", "port", "of")

	pauseReaction = histogram("pause_reaction_seconds",
		"Time from XOFF received to the end of the last send call of its priority.", byPort...)
	delayLate = histogram("delay_late_seconds",
		"Time by which each frame left the delay line of its port too late: the line is software, which waits for a "+
			"CPU now and then.", byPort...)
	pauseReceivedTime = histogram("pause_received_duration_seconds",
		"Length of each pause of a priority, or of the port, by the peer, from the first XOFF to XON or "+
			"expiry.", byPort...)
	pauseSentTime = histogram("pause_sent_duration_seconds",
		"Length of each pause of a priority of the peer, or of the peer, from here.", byPort...)
	xoffReaction = histogram("xoff_reaction_seconds",
		"Time from the admission that crosses a threshold to the send call of XOFF.")

	xoffArrivalReaction = histogram("xoff_arrival_reaction_seconds",
		"Time from the arrival of the frame that crosses a threshold, by the kernel's stamp, to the send call of "+
			"XOFF.")

	watchdogDetected  = counter("watchdog_detected_total", "Deadlocks detected on an egress queue.", byPriority...)
	watchdogRecovered = counter("watchdog_recovered_total",
		"Deadlocks of an egress queue that were restored: detection started again.", byPriority...)
	watchdogRecurred = counter("watchdog_recurred_total",
		"Times that PFC was switched off on an egress queue since its deadlock kept coming back.", byPriority...)
	watchdogSent = counter("watchdog_storm_sent_frames_total", "Frames that left an egress queue during its deadlocks.",
		byPriority...)
	watchdogDropped = counter("watchdog_storm_dropped_frames_total",
		"Frames that were dropped from an egress queue to break its deadlocks.", byPriority...)
	watchdogBlocked = gauge("watchdog_blocked",
		"1 while an egress queue counts as locked up: from detection to recovery, or while PFC is off since the "+
			"deadlock keeps coming back.", byPriority...)

	kernelBacklogDrops = counter("kernel_backlog_drops_total",
		"Frames that the kernel dropped before any receive ring, on the whole machine since its boot.")
	tapDrops = counter("tap_drops_total",
		"Frames of the host that the kernel dropped because their queue towards the TAP was full.", byPort...)
	captureMissing = counter("capture_missing_frames_total",
		"Frames that a capture wanted and that were overwritten before it came to them.")
	eventReadersCut = counter("event_readers_cut_off_total",
		"Readers of the stream of events that were too slow, and cut off.")
	fdbEntries = gauge("fdb_entries", "Entries of the filtering database.")
	fdbMoves   = counter("fdb_moves_total",
		"Stations that went from one port to another, as after a move, or in a loop.")
	fdbHolds = counter("fdb_holds_total",
		"Holds of stations that moved too often, because two senders use an address.")
	fdbRefusedMoves = counter("fdb_refused_moves_total", "Moves of stations that a hold refused.")
	fdbNotLearned   = counter("fdb_not_learned_frames_total",
		"Frames whose source was not learned since there was no room.")
	fdbForgotten = counter("fdb_forgotten_total", "Learned entries that made room for others, of a port at its limit "+
		"of stations, or in a full database.")

	trunkBytes = gauge("trunk_bytes", "Bytes, with FCS, that wait in a trunk to leave by the uplink or by members.",
		"trunk", "priority", "to")
	trunkMemberBytes = gauge("trunk_member_bytes",
		"Bytes, with FCS, of a member's share that wait for the uplink, or of its area that are to leave by "+
			"it.", "trunk", "member", "to")
	trunkMeteredFrames = counter("trunk_metered_frames_total",
		"Frames that came by a member, by the colour of their priority's meter (green without meters); member all, "+
			"priority total: those yellow before, by the total's meter.", byColour...)
	trunkMeteredBytes = counter("trunk_metered_bytes_total",
		"Bytes, with FCS, of the frames of trunk_metered_frames_total.", byColour...)
	trunkREDDrops = counter("trunk_red_drops_total",
		"Frames that random early discard of a priority, or of the total, dropped.", byTrunk...)
	trunkMeterDrops        = counter("trunk_meter_drops_total", "Frames that were dropped for being red.", byTrunk...)
	trunkDistributedFrames = counter("trunk_distributed_frames_total",
		"Frames of the uplink that were given to a member.", byTrunkMember...)
	trunkDistributedBytes = counter("trunk_distributed_bytes_total",
		"Bytes, with FCS, of the uplink that were given to a member.", byTrunkMember...)
	trunkHeld = gauge("trunk_held",
		"1 while the trunk holds the peer of one of its ports, for a priority or (all) as a whole.", byTrunkPort...)
	trunkHolds = counter("trunk_holds_total",
		"Holds of the peer of one of its ports that the trunk began, for a priority or (all) as a "+
			"whole.", byTrunkPort...)
	lldpNeighbors = gauge("lldp_neighbors", "Neighbors that speak LLDP on the port's link.", byPort...)
	dcbxMismatch  = gauge("dcbx_mismatch", "1 where both ends of the link do not agree which priorities are lossless.",
		byPort...)
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
