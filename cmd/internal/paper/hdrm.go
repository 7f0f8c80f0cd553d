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

var calculatedHeadroom = Study{"hdrm", "IEEE 802.1Q, annex on buffer requirements for PFC: the delay value; " +
	"US 2025/0267110: HDRM", "two frames, the PFC frame, the cable there and back and the response limit hold what " +
	"comes after XOFF", runHeadroom}

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

// measureTime is for how long the probes measure before the traffic.
const measureTime = 400 * time.Millisecond

// use returns the headroom of the link, calculated or measured (HDRM), and the most that was used, in octets, and
// whether a frame was lost. No frame waits for room.
func (l headroomLink) use(ctx context.Context, seed uint64, measured bool) (size, used int64, lost bool, err error) {
	headroom, start := "{}\n    buffer: {headroom: calculated", 2*time.Millisecond
	if measured {
		headroom = fmt.Sprintf("{small_packets: 0%%, interval: 10ms}\n    ports: {in: {burst: %d}}\n"+
			"    buffer: {headroom: auto", 2*(hdrmFrame+24))
		start = measureTime
	}
	r, err := simulate(ctx, fmt.Sprintf(`name: hdrm
switches:
  s1:
    preset: roce
    headroom: %s, ring_hold: off, lossless: {size: 512MiB, alpha: 0.001}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:in"], speed: %d, cable: %dm}
  l2: {ends: [h2, "s1:out"], speed: %[2]d}
traffic: {flow: {from: h1, to: h2, start: %[4]v, duration: 20ms}}
faults: {stopped: {storm: h2, start: %[5]v}}
`, headroom, l.speed, l.metres, start, start-2*time.Millisecond), simulation.Options{Seed: seed, Measure: measured})
	if err != nil {
		return 0, 0, false, err
	}
	for _, p := range r.Ports {
		if p.Port == "in" {
			size, used = p.HeadroomSize, p.HeadroomPeak
		}
	}
	return size, used, r.Switches[0].LosslessDrops > 0, nil
}

func runHeadroom(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"Gbit/s", "metres", "used kB", "standard kB", "difference", "HDRM kB", "used of it",
		"calculated kB", "used of it", "lost"}
	result.Remark = "The standard counts a frame that has just begun, here and at the peer; frames are whole, so " +
		"less is used. HDRM is what the probes of both ends have found, with the reaction of the host, for full " +
		"frames. Calculated is what the switch reserves: it expects small frames, a cell each, and a peer that " +
		"is software, with a burst of 500 µs and send calls of 50 µs, which a host in virtual time has not. Lost: " +
		"with HDRM or calculated, where no frame waits for room."
	panels := [2]plot.Panel{{Title: "used headroom, % of the standard's, over the cable, logarithmic"},
		{Title: "used headroom, % of HDRM, over the cable, logarithmic"}}
	for i := range panels {
		panels[i].From, panels[i].At = "1 m", []int64{0, 2, 3, 4, 5}
		panels[i].Unit = func(int64) string { return "100 km" }
	}
	for _, gigabits := range []int64{1, 10, 25, 100, 400} {
		name := fmt.Sprintf("%dG", gigabits)
		lines := [2]plot.Series{{Name: name}, {Name: name}}
		for _, metres := range []int64{1, 100, 1000, 10_000, 100_000} {
			l := headroomLink{gigabits * 1_000_000_000, metres}
			o.Progress(fmt.Sprintf("%dG, %d m", gigabits, metres))
			calculated, used, lost, err := l.use(ctx, o.Seed, false)
			if err != nil {
				return err
			}
			found, of, short, err := l.use(ctx, o.Seed, true)
			if err != nil {
				return err
			}
			answer := "no"
			if lost || short {
				answer = "yes"
			}
			standard := float64(l.delayValue())
			result.add(fmt.Sprint(gigabits), fmt.Sprint(metres), kilo(float64(used)), kilo(standard),
				percent(float64(used), standard), kilo(float64(found)), share(of, found), kilo(float64(calculated)),
				share(used, calculated), answer)
			lines[0].Values = append(lines[0].Values, 100*float64(used)/standard)
			lines[1].Values = append(lines[1].Values, 100*float64(of)/float64(found))
		}
		for i := range panels {
			panels[i].Lines = append(panels[i].Lines, lines[i])
		}
	}
	result.panels = append(result.panels, panels[:]...)
	return nil
}

// share writes a part of a whole.
func share(part, whole int64) string { return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole)) }
