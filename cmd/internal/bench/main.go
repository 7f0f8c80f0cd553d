// Package bench is what scripts/bench.sh builds and runs (cmd/bench): it compares pfcswitch, the Linux bridge and Open vSwitch's
// userspace datapath in interleaved rounds on the same veth links, in network namespaces of its own.
//
//	options.go                       what to measure, how often and how long; the parts
//	machine.go, install.go           what it runs on and which peers there are
//	network.go, process.go, tap.go   namespaces and links, programs in them, a link end that is the benchmark's own
//	pfcswitch.go, bridge.go, ovs.go  the switches
//	counters.go, load.go             what the kernel counts; frames sent and what became of them
//	rate.go, effort.go               rates while senders are at work; CPU time of a switch and of the machine
//	estimate.go, fair.go             how long it will take; what the switches have not in common
//	frames.go … flap.go              the parts, one a file
//	result.go, summary.go            single results; their medians, spreads and ratios by round
//	table.go, aims.go, svg.go        how they are shown
//	files.go                         what is written, and where
//
// The exit status is 0 where every part worked, 1 where one did not, 2 for a wrong option and 128 + n after signal n.
// How fast something was never decides.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// Run runs the benchmark with the arguments of its command line and returns the exit status.
func Run(args []string) (status int) {
	if len(args) > 0 && args[0] == spinCommand {
		return spin(args[1:], os.Stdout, os.Stderr)
	}
	// Children ask to be killed when the thread that started them ends: all are started by this goroutine.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	opt, err := parseOptions(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // parseOptions has said why
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go runSignals(signals, cancel)

	opt.filesIn(os.Getenv(folderVariable))
	b := &bench{ctx: ctx, opt: opt, out: os.Stdout}
	if opt.json == standardOutput || opt.svg == standardOutput {
		b.out = os.Stderr
	}
	err = b.whole()
	var s signalError
	switch {
	case errors.As(context.Cause(ctx), &s):
		fmt.Fprintln(os.Stderr, "bench.sh:", s)
		return 128 + int(s.signal)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench.sh:", err)
		return 1
	}
	return 0
}

// A signalError says that the run was ended by a signal.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return fmt.Sprintf("ended by a signal: %v", e.signal) }

func runSignals(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	for s := range signals {
		if s, ok := s.(syscall.Signal); ok {
			cancel(signalError{s})
		}
	}
}
