package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/plot"
)

var softwareHeadroom = Study{"dsh-software", "this project: nobody has published it",
	"the later peers react, the more DSH pays: static headroom runs out of room",
	runSoftwareHeadroom}

const softwareSenders = 7

// softwareSwitch is a switch of 8 ports of 10G with 16 MB, whose peers react after a time at the latest: η holds what
// they send meanwhile, what the link of 2 µs holds there and back, and two frames.
func softwareSwitch(reaction time.Duration) dshSwitch {
	const speed, frames = 10_000_000_000, 2 * (1522 + 20)
	return dshSwitch{softwareSenders + 1, speed, dshBuffer,
		int64(reaction+4*time.Microsecond)*(speed/1_000_000_000)/8 + frames, reaction, true}
}

// reserved is what the switch keeps for headroom, in octets: with static headroom η for each queue, else for each port.
func (w dshSwitch) reserved(static bool) int64 {
	if static {
		return int64(w.ports) * 7 * w.eta
	}
	return int64(w.ports) * w.eta
}

// meanLoses reports whether frames are lost where η is for the mean reaction, with a burst for which all are held.
func (w dshSwitch) meanLoses(ctx context.Context, seed uint64, policy string) (bool, error) {
	w.eta = softwareSwitch(w.options(seed).Response + w.options(seed).Noise).eta
	_, err := w.paused(ctx, seed, policy, softwareSenders, dshBuffer)
	if errors.Is(err, errLost) {
		return true, nil
	}
	return false, err
}

// fits reports whether headroom for each queue leaves each queue two frames to share, and its private segment.
func (w dshSwitch) fits() bool { return w.reserved(true)+int64(w.ports)*7*(3072+2*1536) < w.pool }

func runSoftwareHeadroom(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"reaction µs", "η kB", "SIH reserves MB", "DSH reserves MB", "SIH burst MB",
		"DSH burst MB", "times", "η of the mean"}
	result.Remark = "The largest burst of 7 senders that is absorbed without a pause, by a switch of 8 ports of 10G " +
		"with 7 lossless priorities and 16 MB. Hosts react at random, after a tenth of a reaction at least and 0.35 " +
		"in the mean: no frame is lost, since η is for the whole. The last column says who loses frames of 16 MB " +
		"where η is for the mean. Where SIH reserves more than there is, the switch refuses its configuration."
	var line [2]plot.Series
	line[0].Name, line[1].Name = "SIH", "DSH"
	panel := plot.Panel{Title: "burst without a pause, MB, over the reaction of the peers",
		Unit: func(us int64) string { return fmt.Sprintf("%d µs", us) }}
	for _, us := range []int64{1, 20, 50, 100, 150, 200, 300} {
		o.Progress(fmt.Sprintf("%d µs", us))
		w := softwareSwitch(time.Duration(us) * time.Microsecond)
		var bursts [2]int64
		var losers []string
		for i, policy := range []string{"dt", "dsh"} {
			if i == 0 && !w.fits() {
				continue
			}
			var err error
			if bursts[i], err = w.largest(ctx, o.Seed, policy, softwareSenders); err != nil {
				return err
			}
			loses, err := w.meanLoses(ctx, o.Seed, policy)
			if err != nil {
				return err
			}
			if loses {
				losers = append(losers, line[i].Name+" loses")
			}
		}
		static, times := "does not fit", "-"
		if w.fits() {
			static = mega(bursts[0])
			times = fmt.Sprintf("%.1f", float64(bursts[1])/float64(max(1, bursts[0])))
		}
		result.add(fmt.Sprint(us), fmt.Sprintf("%.1f", float64(w.eta)/1000), mega(w.reserved(true)),
			mega(w.reserved(false)), static, mega(bursts[1]), times,
			cmp.Or(strings.Join(losers, ", "), "enough"))
		panel.At = append(panel.At, us)
		for i, b := range bursts {
			line[i].Values = append(line[i].Values, float64(b)/1e6)
		}
	}
	panel.Lines = line[:]
	result.panels = append(result.panels, panel)
	return nil
}
