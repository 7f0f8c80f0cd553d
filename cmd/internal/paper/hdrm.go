package paper

import (
	"context"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

var calculatedHeadroom = Study{"hdrm", "IEEE 802.1Q, annex on buffer requirements for PFC: the delay value",
	"two frames, the PFC frame, the cable there and back and the response limit hold what comes after XOFF",
	runHeadroom}

// A headroomLink is a link to a switch whose other port is stopped: what comes after XOFF stays in the headroom.
type headroomLink struct {
	speed  int64 // bit/s
	metres int64
}

// hdrmFrame is the octets of the frames, with their tag.
const hdrmFrame = 1518

// delayValue is the headroom by the standard, in octets on the wire.
func (l headroomLink) delayValue() int64 {
	in := headroom.Inputs{Speed: l.speed, MaxFrame: hdrmFrame, Delay: time.Duration(l.metres) * 5}
	return headroom.Octets(headroom.Delay(in, macctl.ModePFC).Bits())
}

// use returns the calculated headroom of the link and the most that was used, in octets, and whether a frame was lost.
func (l headroomLink) use(ctx context.Context, seed uint64) (calculated, used int64, lost bool, err error) {
	r, err := simulate(ctx, fmt.Sprintf(`name: hdrm
switches:
  s1: {preset: roce, buffer: {headroom: calculated, lossless: {size: 512MiB, alpha: 0.001}}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:in"], speed: %d, cable: %dm}
  l2: {ends: [h2, "s1:out"], speed: %[1]d}
traffic: {flow: {from: h1, to: h2, start: 2ms, duration: 20ms}}
faults: {stopped: {storm: h2}}
`, l.speed, l.metres), simulation.Options{Seed: seed})
	if err != nil {
		return 0, 0, false, err
	}
	for _, p := range r.Ports {
		if p.Port == "in" {
			calculated, used = p.HeadroomSize, p.HeadroomPeak
		}
	}
	return calculated, used, r.Switches[0].LosslessDrops > 0, nil
}

func runHeadroom(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"Gbit/s", "metres", "used kB", "standard kB", "difference", "calculated kB",
		"used of it", "lost"}
	result.Remark = "The standard counts a frame that has just begun, here and at the peer; frames are whole, so " +
		"less is used. Calculated is what the switch reserves: it expects small frames, a cell each, and a peer that " +
		"is software, with a burst of 500 µs and send calls of 50 µs, which a host in virtual time has not."
	panel := plot.Panel{Title: "used headroom, % of the standard's, over the cable, logarithmic from 1 m on",
		Unit: func(int64) string { return "100 km" }, At: []int64{0, 2, 3, 4, 5}}
	for _, gigabits := range []int64{1, 10, 25, 100, 400} {
		line := plot.Series{Name: fmt.Sprintf("%dG", gigabits)}
		for _, metres := range []int64{1, 100, 1000, 10_000, 100_000} {
			l := headroomLink{gigabits * 1_000_000_000, metres}
			o.Progress(fmt.Sprintf("%dG, %d m", gigabits, metres))
			calculated, used, lost, err := l.use(ctx, o.Seed)
			if err != nil {
				return err
			}
			answer := "no"
			if lost {
				answer = "yes"
			}
			standard := float64(l.delayValue())
			result.add(fmt.Sprint(gigabits), fmt.Sprint(metres), kilo(float64(used)), kilo(standard),
				percent(float64(used), standard), kilo(float64(calculated)),
				fmt.Sprintf("%.1f %%", 100*float64(used)/float64(calculated)), answer)
			line.Values = append(line.Values, 100*float64(used)/standard)
		}
		panel.Lines = append(panel.Lines, line)
	}
	result.panels = append(result.panels, panel)
	return nil
}
