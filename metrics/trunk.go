package metrics

import (
	"strconv"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// Values of trunk labels.
const (
	total     = "total"   // of all priorities together
	toUplink  = "uplink"  // a direction
	toMembers = "members" // likewise
)

func collectTrunk(o *output, t *dataplane.TrunkSnapshot) {
	name := t.Config.Name
	for p := range dataplane.NumPriorities {
		label := strconv.Itoa(p)
		o.value(trunkBytes, float64(t.ToUplink[p]), name, label, toUplink)
		o.value(trunkBytes, float64(t.ToMembers[p]), name, label, toMembers)
		o.value(trunkREDDrops, float64(t.RED[p].Frames), name, label)
		o.value(trunkMeterDrops, float64(t.MeterRed[p].Frames), name, label)
	}
	o.value(trunkREDDrops, float64(t.TotalRED.Frames), name, total)
	collectHolds(o, t, t.Uplink, t.Held.Uplink, t.UplinkHolds, t.UplinkPauses)
	for colour, tally := range t.Total {
		o.value(trunkMeteredFrames, float64(tally.Frames), name, all, total, colourName(colour))
		o.value(trunkMeteredBytes, float64(tally.Octets), name, all, total, colourName(colour))
	}
	for i := range t.Members {
		collectMember(o, t, i)
	}
}

// collectHolds exports what the trunk holds at a port: priorities where PFC is on, else the whole port.
func collectHolds(o *output, t *dataplane.TrunkSnapshot, port string, held uint8,
	begun [dataplane.NumPriorities]dataplane.HoldCount, pauses dataplane.HoldCount) {
	if t.Config.Flow.Mode == macctl.ModePause {
		o.value(trunkHeld, boolValue(held != 0), t.Config.Name, port, all)
		o.value(trunkHolds, float64(pauses.Begun), t.Config.Name, port, all)
		return
	}
	for p := range dataplane.NumPriorities {
		o.value(trunkHeld, boolValue(held>>p&1 == 1), t.Config.Name, port, strconv.Itoa(p))
		o.value(trunkHolds, float64(begun[p].Begun), t.Config.Name, port, strconv.Itoa(p))
	}
}

func collectMember(o *output, t *dataplane.TrunkSnapshot, i int) {
	name, m := t.Config.Name, &t.Members[i]
	o.value(trunkMemberBytes, float64(m.Share), name, m.Port, toUplink)
	o.value(trunkMemberBytes, float64(m.Area), name, m.Port, toMembers)
	held := t.Held.Priorities
	if t.Held.Members>>i&1 == 1 {
		held = 0xff
	}
	collectHolds(o, t, m.Port, held, t.Holds, m.Holds)
	for p := range m.Colours {
		label := strconv.Itoa(p)
		for colour, tally := range m.Colours[p] {
			o.value(trunkMeteredFrames, float64(tally.Frames), name, m.Port, label, colourName(colour))
			o.value(trunkMeteredBytes, float64(tally.Octets), name, m.Port, label, colourName(colour))
		}
		o.value(trunkDistributedFrames, float64(m.Distributed[p].Frames), name, m.Port, label)
		o.value(trunkDistributedBytes, float64(m.Distributed[p].Octets), name, m.Port, label)
	}
}

func colourName(colour int) string { return trunk.Colour(colour).String() }
