package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/explain"
	"pfcswitch/cmd/internal/traffic"
)

// shapeFlags are the flags of send about when it begins and what it replays.
type shapeFlags struct {
	at, pcap string
	timed    bool
}

func (o *shapeFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.at, "at", "", "`time` at which to begin: 15:04:05 of today, or 2006-01-02T15:04:05Z; "+
		"senders with the same time begin together")
	c.Flags().StringVar(&o.pcap, "pcap", "", "send the Ethernet frames of this capture `file`, pcap or pcapng, as "+
		"they are, each priority in its order; without --seconds and --count once; what was not captured of a frame "+
		"is zeros; no sink is asked")
	c.Flags().BoolVar(&o.timed, "timed", false, "with --pcap: no frame goes sooner behind the first than it came in "+
		"the capture; without, all go as fast as --speed lets them")
}

// start sets when a sender begins, where --at says that.
func (o *shapeFlags) start(cmd *cobra.Command, at *time.Time) (err error) {
	if o.at == "" {
		return nil
	}
	if cmd.Flags().Changed("start") {
		return errors.New("--at and --start exclude each other")
	}
	*at, err = momentOf(o.at, time.Now())
	return err
}

// replay has a sender send the frames of a file, where --pcap names one. The sender reads the file as it goes.
func (o *shapeFlags) replay(cmd *cobra.Command, c *traffic.SendConfig) error {
	if o.pcap == "" {
		if o.timed {
			return errors.New("--timed: that is for the frames of --pcap")
		}
		return nil
	}
	for _, name := range []string{"flow", "to", "vlan", "untagged", "dscp", "ecn", "cc", "storm"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--pcap and --%s exclude each other: frames of a file go as they are", name)
		}
	}
	if info, err := os.Stat(o.pcap); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--pcap %s: it is no regular file, and is read several times: write what a pipe has to "+
			"a file first, and name that", o.pcap)
	}
	file, err := os.Open(o.pcap)
	if err != nil {
		return fmt.Errorf("--pcap: %w", err)
	}
	open := func() (traffic.Capture, error) { return explain.NewCapture(beginning(file)) }
	frames, left, err := c.Replay(open, o.timed)
	if err != nil {
		return fmt.Errorf("--pcap %s: %w", o.pcap, errors.Join(err, file.Close()))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d frames to send, and %d of MAC Control left out\n", o.pcap, frames, left)
	return nil
}

// momentOf reads a time of today, or a date with a time, that has not passed.
func momentOf(text string, now time.Time) (at time.Time, err error) {
	if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
		clock, wrong := time.Parse("15:04:05", text)
		if wrong != nil {
			return at, fmt.Errorf("--at %s: write 15:04:05, or 2006-01-02T15:04:05Z", text)
		}
		at = time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), clock.Second(),
			clock.Nanosecond(), now.Location())
	}
	if at.Before(now) {
		return at, fmt.Errorf("--at %s: that time has passed: it is %s", text, now.Format(time.TimeOnly))
	}
	return at, nil
}

// beginning reads a file from its beginning, whoever else reads it.
func beginning(file io.ReaderAt) io.Reader { return io.NewSectionReader(file, 0, math.MaxInt64) }

// setShape sets a key of a flow's shape; ok is false for other keys.
func setShape(f *traffic.Flow, key, value string) (ok bool, err error) {
	switch key {
	case "on":
		f.On, err = time.ParseDuration(value)
	case "off":
		f.Off, err = time.ParseDuration(value)
	case "arrivals":
		if f.Poisson = value == "poisson"; !f.Poisson {
			err = fmt.Errorf("arrivals=%s: they are poisson, or evenly spread without the key", value)
		}
	default:
		return false, nil
	}
	return true, err
}
