package daemon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pfcswitch/dataplane/runner"
)

// A Tuning is the flag by which the benchmark changes how workers wait and share: choices with commas between, such as
// spin=none,burst=8. Tuning is not a setting, and its choices may change.
type Tuning struct {
	text  string
	value runner.Tuning
}

// String returns what was given.
func (t *Tuning) String() string { return t.text }

// Type is what help would call a value.
func (t *Tuning) Type() string { return "choices" }

// Set reads choices.
func (t *Tuning) Set(text string) error {
	var v runner.Tuning
	for choice := range strings.SplitSeq(text, ",") {
		if err := parseChoice(&v, choice); err != nil {
			return fmt.Errorf("%q: %w", choice, err)
		}
	}
	t.text, t.value = text, v
	return nil
}

// choices are those without a number.
var choices = map[string]func(v *runner.Tuning){
	"spin=none":     func(v *runner.Tuning) { v.Spin = runner.SpinNone },
	"spin=short":    func(v *runner.Tuning) { v.Spin = runner.SpinShort },
	"spin=most":     func(v *runner.Tuning) { v.Spin = runner.SpinMost },
	"spin=endless":  func(v *runner.Tuning) { v.Spin = runner.SpinEndless },
	"turn=fixed":    func(v *runner.Tuning) { v.FixedTurn = true },
	"gather=none":   func(v *runner.Tuning) { v.NoCoalesce = true },
	"control=frame": func(v *runner.Tuning) { v.EachFrame = true },
}

// parseChoice takes over one choice.
func parseChoice(v *runner.Tuning, choice string) (err error) {
	if set := choices[choice]; set != nil {
		set(v)
		return nil
	}
	switch name, value, _ := strings.Cut(choice, "="); name {
	case "burst":
		v.BurstFrames, err = numberUpTo(256, value)
	case "bursts":
		v.Bursts, err = numberUpTo(1024, value)
	default:
		err = errors.New("there is spin=none, spin=short, spin=most, spin=endless, burst=FRAMES, bursts=NUMBER, " +
			"turn=fixed, gather=none and control=frame")
	}
	return err
}

// numberUpTo reads a whole number of at least 1.
func numberUpTo(most int, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("it has to be a whole number from 1 to %d", most)
	}
	return n, nil
}
