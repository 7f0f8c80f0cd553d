package metrics

import (
	"strconv"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/macctl"
)

const second = 1e9

func collectPort(o *output, p *dataplane.PortSnapshot) {
	name, c := p.Config.Name, &p.Counters
	o.value(portUp, boolValue(p.Up), name)
	o.value(portSpeed, float64(p.Config.Speed), name)
	o.value(portLoop, boolValue(p.Loop == bridge.LoopShut), name)
	for v, n := range c.LoopProbesReceived {
		o.value(loopProbes, float64(n), name, bridge.ProbeVerdict(v).String())
	}
	o.value(receiveFrames, float64(c.ReceivedFrames), name)
	o.value(receiveBytes, float64(c.ReceivedBytes), name)
	o.value(transmitFrames, float64(c.SentFrames), name)
	o.value(transmitBytes, float64(c.SentBytes), name)
	o.value(overspeed, float64(c.Overspeed), name)
	o.value(ringHoldSeconds, float64(c.RingHoldNs)/second, name)
	o.value(ringHoldBytes, float64(c.RingHoldBytes), name)
	o.value(ringFramesMax, float64(c.RingFramesMax), name)
	if p.Config.TAP {
		o.value(tapDrops, float64(c.HostDrops), name)
	}
	o.histogram(pauseReaction, &p.Reaction, name)
	if p.Config.Delay > 0 || p.Late.Count > 0 {
		o.histogram(delayLate, &p.Late, name)
	}
	for q, label := range ingressQueues(&p.Config) {
		u := &p.HeadroomUse[q]
		o.value(headroomUsedMax, float64(u.Peak), name, label)
		o.value(headroomXoffs, float64(u.Xoffs), name, label)
		o.value(headroomBefore, float64(u.Ring), name, label)
		o.value(headroomWaited, float64(u.Waited), name, label, "after")
		o.value(headroomWaited, float64(u.WaitedBehindEarlier), name, label, "before")
		o.value(headroomWaited, float64(u.WaitedEarly), name, label, "early")
		if u.WaitedForPool > 0 { // few switches have a headroom pool
			o.value(headroomWaited, float64(u.WaitedForPool), name, label, "pool")
		}
		o.value(headroomLateXoffs, float64(u.LateXoffs), name, label)
		o.value(headroomLateBytes, float64(u.RingTotal), name, label)
		o.value(headroomLateMax, float64(u.LateNs)/second, name, label)
		o.value(headroomExceeded, float64(u.Exceeded), name, label)
		if u.LeastLeft.Used > 0 {
			o.value(headroomLeastLeft, float64(u.LeastLeft.Room-u.LeastLeft.Used), name, label)
		}
		o.value(assistXoffs, float64(c.AssistXoffs), name, label)
		o.value(headroomXon, float64(p.Config.Ingress[q].Xon), name, label)
	}
	o.histogram(pauseReceivedTime, &p.Pauses, name)
	o.histogram(pauseSentTime, &p.Holds, name)
	collectDrops(o, p)
	collectControl(o, p)
	collectEgress(o, p)
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collectControl exports PAUSE and PFC. A port has the paused time of one of them: that of the whole link where PAUSE
// is on.
func collectControl(o *output, p *dataplane.PortSnapshot) {
	name := p.Config.Name
	o.value(pauseReceived, float64(p.Received.PauseFrames), name)
	o.value(pauseSent, float64(p.ControlSent.PauseFrames), name)
	for r := macctl.ReasonNone + 1; int(r) < macctl.NumReasons; r++ {
		o.value(controlIgnored, float64(p.Received.Ignored[r]), name, r.String())
	}
	o.value(controlIgnored, float64(p.Counters.ControlLost), name, "ring")
	if p.Config.Mode == macctl.ModePause {
		o.value(pfcReceivedPaused, float64(p.PausedAllNs)/second, name, all)
		o.value(pfcSentPaused, float64(p.HeldAllNs)/second, name, all)
		return
	}
	for prio := range dataplane.NumPriorities {
		label := strconv.Itoa(prio)
		o.value(pfcReceived, float64(p.Received.PFCFrames[prio]), name, label)
		o.value(pfcSent, float64(p.ControlSent.PFCFrames[prio]), name, label)
		o.value(pfcReceivedPaused, float64(p.PausedNs[prio])/second, name, label)
		o.value(pfcSentPaused, float64(p.HeldNs[prio])/second, name, label)
	}
}

// collectEgress exports the eight egress queues, which every port has, whatever its flow control.
func collectEgress(o *output, p *dataplane.PortSnapshot) {
	for q := range dataplane.NumPriorities {
		label := strconv.Itoa(q)
		o.value(egressQueue, float64(p.Counters.QueueBytes[q]), p.Config.Name, label)
		o.value(egressQueueMax, float64(p.Counters.QueueBytesMax[q]), p.Config.Name, label)
		o.value(egressQueueSent, float64(p.Counters.QueueSent[q]), p.Config.Name, label)
		o.value(assistForwarded, float64(p.Counters.Forwarded[q]), p.Config.Name, label)
		o.value(ecnMarked, float64(p.Counters.Marked[q]), p.Config.Name, label)
	}
}

// collectIngress exports the lossless ingress queues of a port.
func collectIngress(o *output, p *buffer.PortSnapshot) {
	for k := range p.Ingress {
		q := &p.Ingress[k]
		if !q.Lossless {
			continue
		}
		label := strconv.Itoa(k)
		if p.Mode == macctl.ModePause {
			label = all
		}
		o.value(ingressQueue, float64(q.Used.Private.Now), p.Name, label, "private")
		o.value(ingressQueue, float64(q.Used.Shared.Now), p.Name, label, "shared")
		o.value(ingressQueue, float64(q.Used.Headroom.Now), p.Name, label, "headroom")
		o.value(ingressQueueHeadroom, float64(q.Used.Headroom.Now), p.Name, label)
		o.value(ingressQueueHeadroomPeak, float64(q.Used.Headroom.Persistent), p.Name, label)
		o.value(headroomConfigured, float64(q.Config.Headroom), p.Name, label)
	}
}
