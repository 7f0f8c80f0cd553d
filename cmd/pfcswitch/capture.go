package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/tcpdump"
)

func captureCommand() *cobra.Command {
	var socket, file, filter string
	var request api.CaptureRequest
	var seconds, last float64
	c := &cobra.Command{
		Use:   "capture",
		Short: "show frames to Wireshark: every port, both directions, PAUSE and PFC, and why a frame was dropped",
		Long: `Writes a pcapng file of what the switch receives, sends and drops, MAC Control and LLDP frames
included, until Ctrl-C. Comments say why XOFF was sent, what was dropped, and what was held. The filter is an
expression of tcpdump, which has to be installed to compile it, or the instructions that "tcpdump -ddd -y EN10MB"
prints.`,
		Example: "  pfcswitch capture -w - | wireshark -k -i -\n" +
			"  pfcswitch capture --port eth1 --port eth2 --snap 64 --seconds 10 -w leaf1.pcapng\n" +
			"  pfcswitch capture --filter 'ether proto 0x8808' -w - | tshark -r -\n" +
			"  pfcswitch capture --last 5 -w before.pcapng",
		Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, _ []string) error {
			var err error
			if request.For, err = positive("--seconds", seconds); err != nil {
				return err
			}
			if request.Last, err = positive("--last", last); err != nil {
				return err
			}
			if request.Filter, err = tcpdump.Compile(cmd.Context(), filter); err != nil {
				return err
			}
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			return writeCapture(cmd.Context(), api.NewClient(path), request, file)
		}),
	}
	socketFlag(c, &socket)
	c.Flags().StringArrayVar(&request.Ports, "port", nil, "`port` to capture (repeatable; default: all)")
	registerCompletion(c, "port", offerPorts(&socket))
	c.Flags().StringVarP(&file, "write", "w", "", "file to write; -: standard output, the default where that is no "+
		"terminal")
	c.Flags().IntVar(&request.Snap, "snap", 0, "`octets` of each frame to keep (default: all)")
	c.Flags().StringVar(&filter, "filter", "", "expression of tcpdump, or classic BPF instructions")
	c.Flags().Float64Var(&seconds, "seconds", 0, "end after so many `seconds`")
	c.Flags().Uint64Var(&request.Frames, "frames", 0, "end after so many `frames`")
	c.Flags().Float64Var(&last, "last", 0, "write so many `seconds` of the ring instead of what comes (needs "+
		"capture.ring: on)")
	return c
}

// positive converts a flag in seconds; 0 is no limit.
func positive(flag string, seconds float64) (time.Duration, error) {
	if !(seconds >= 0 && seconds < 1e9) {
		return 0, fmt.Errorf("%s %v: write a number of seconds", flag, seconds)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func writeCapture(ctx context.Context, client *api.Client, request api.CaptureRequest, file string) error {
	lazy := &lazyFile{path: file}
	dst := io.Writer(os.Stdout)
	switch {
	case file != "" && file != "-":
		dst = lazy
	case file == "" && terminal(os.Stdout):
		return errors.New("a capture is no text for a terminal: name a file with -w, or write: pfcswitch capture | " +
			"wireshark -k -i -")
	}
	t, err := client.Capture(ctx, request, dst)
	if err := errors.Join(err, lazy.Close()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d frames captured\n", t.Frames)
	if t.Missing > 0 {
		fmt.Fprintf(os.Stderr, "%d frames between them are missing, lost in a receive ring or because this capture "+
			"was too slow: try --snap 128, fewer ports, or a larger capture.memory\n", t.Missing)
	}
	return nil
}

// A lazyFile is created or truncated by the first write. Where no switch answers, the file stays as it was.
type lazyFile struct {
	path string
	file *os.File // nil before the first write
}

// Write implements io.Writer.
func (l *lazyFile) Write(b []byte) (int, error) {
	if l.file == nil {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return 0, err
		}
		l.file = f
	}
	return l.file.Write(b)
}

// Close implements io.Closer.
func (l *lazyFile) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

func terminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
