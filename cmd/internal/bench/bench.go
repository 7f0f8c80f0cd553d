// Package bench is what scripts/bench.sh builds and runs (cmd/bench): it compares pfcswitch, the Linux bridge and Open
// vSwitch's userspace datapath in interleaved rounds on the same veth links, in network namespaces of its own.
//
//	options.go                        what to measure, how often and how long; the parts; the files that are written
//	machine.go                        the machine, CPU time and memory
//	network.go, tap.go                namespaces, links and programs in them; a link end of the benchmark's own
//	compare.go, pfcswitch.go, ovs.go  the switches that are compared
//	load.go, rate.go                  frames sent and what became of them; rates while senders are at work
//	estimate.go                       how long the run will take
//	frames.go … flap.go               the parts, one a file; cpugaps.go: when the machine does not run a thread
//	result.go                         single results; their medians, ranges and ratios by round
//	table.go, aims.go, svg.go         how results are shown
//	smoke.go                          whether every part works and figures are right
//
// The exit status is 0 where every part worked, 1 where one did not, 2 for a wrong option and 128 + n after signal n.
// A speed never decides the exit status.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// Run runs the benchmark with the arguments of its command line and returns the exit status.
func Run(args []string) (status int) {
	if len(args) > 0 && args[0] == spinCommand {
		return spin(args[1:], os.Stdout)
	}
	defer func() {
		if err := removeFolders(own); err != nil { // that of scripts/bench.sh too
			fmt.Fprintln(os.Stderr, "bench.sh:", err)
			status = max(status, 1)
		}
	}()
	opt, err := parseOptions(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // parseOptions has printed why
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
	if err = b.run(); err != nil {
		var s signalError
		if status = 1; errors.As(context.Cause(ctx), &s) {
			err, status = s, 128+int(s.signal)
		}
		fmt.Fprintln(os.Stderr, "bench.sh:", err)
	}
	return status
}

// A signalError means that a signal ended the run.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return fmt.Sprintf("ended by a signal: %v", e.signal) }

func runSignals(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	cancel(signalError{(<-signals).(syscall.Signal)})
}

// A bench is one run.
type bench struct {
	ctx        context.Context
	opt        options
	out        io.Writer
	work       string     // folder of this run
	program    string     // pfcswitch
	networks   []*network // of the part that runs
	peers      peers
	withoutTSO bool // the peer's build has none
	machine    machine
	results    []result
	notes      []string
	gaps       cpuGaps // of the machine, added up over the rounds
}

// run announces the files, runs the parts and shows what they gave.
func (b *bench) run() (err error) {
	if err := b.opt.announce(b.out); err != nil {
		return err
	}
	if err := b.setUp(); err != nil {
		return err
	}
	b.machine = b.describe()
	fmt.Fprintln(b.out, b.machine.text())
	if !b.opt.smoke {
		fmt.Fprintln(b.out, b.estimate())
	}
	atStart, err := lab.ReadCPUTimes()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.show(atStart)) }()
	var failed []error
	for _, p := range b.opt.parts {
		start := time.Now()
		err := b.runPart(p.run)
		if b.ctx.Err() != nil { // two hours of results are shown nevertheless
			fmt.Fprintf(b.out, "ENDED EARLY, in part %s: what follows are the rounds until then\n", p.name)
			return b.ctx.Err()
		}
		fmt.Fprintf(b.out, "%-8s  %s: %.0f s\n", p.name, p.what, time.Since(start).Seconds())
		if err != nil {
			failed = append(failed, fmt.Errorf("part %s: %w", p.name, err))
			fmt.Fprintf(b.out, "PART %s DID NOT WORK: %v\n", p.name, err)
		}
	}
	if b.opt.smoke {
		if err := b.runPart((*bench).verify); err != nil {
			failed = append(failed, fmt.Errorf("a figure is not what it says: %w", err))
		}
	}
	return errors.Join(failed...)
}

func (b *bench) runPart(run func(*bench) error) error {
	errs := []error{run(b)}
	for _, n := range slices.Backward(b.networks) {
		errs = append(errs, n.close())
	}
	b.networks = nil
	return errors.Join(errs...)
}

// folderPrefix begins the names of the run's folders, before its process number: scripts/bench.sh makes one of them.
const folderPrefix = "pfcbench-"

// setUp makes the folder and finds the programs.
func (b *bench) setUp() (err error) {
	if err := removeFolders(gone); err != nil {
		return fmt.Errorf("clear what runs that were killed have left: %w", err)
	}
	if b.work, err = os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid())); err != nil {
		return err
	}
	b.program = filepath.Join(b.work, "pfcswitch")
	if _, err := b.local(10*patience, nil, "go", "build", "-o", b.program, "./cmd/pfcswitch"); err != nil {
		return err
	}
	b.findPeers()
	return nil
}

// folderName has the process number of a run in its group.
var folderName = regexp.MustCompile(`^` + folderPrefix + `([1-9][0-9]*)-`)

// removeFolders removes the folders of the runs whose process number matches.
func removeFolders(matches func(pid string) bool) error {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	errs := []error{err}
	for _, f := range folders {
		if m := folderName.FindStringSubmatch(filepath.Base(f)); m != nil && matches(m[1]) {
			errs = append(errs, os.RemoveAll(f))
		}
	}
	return errors.Join(errs...)
}

// own tells whether a process number is this one's.
func own(pid string) bool { return pid == strconv.Itoa(os.Getpid()) }

// gone tells whether a process has ended.
func gone(pid string) bool {
	_, err := os.Stat("/proc/" + pid)
	return errors.Is(err, os.ErrNotExist)
}

// show prints the table and writes the files. The CPU times at the start of the run were those of atStart.
func (b *bench) show(atStart lab.CPUTimes) error {
	atEnd, err := lab.ReadCPUTimes()
	b.machine.Stolen = atEnd.Since(atStart).Steal
	rows := summarize(b.results)
	errs := []error{err, printTable(b.out, rows)}
	fmt.Fprintf(b.out, "While this ran, the machine's host took %.2f %% of the CPUs' time for others (steal), "+
		"which is in no figure of the machine's\nCPU time; whether a process's own (switch_cpu, percent_of_a_core) "+
		"holds some is a matter of the kernel's accounting.\n", 100*b.machine.Stolen)
	for _, n := range append(slices.Clone(b.notes), offHalfLoad(b.results)...) {
		fmt.Fprintln(b.out, n)
	}
	if b.opt.smoke {
		fmt.Fprintln(b.out, "A smoke run: the figures mean nothing.")
		errs = append(errs, b.judgeSmoke(rows))
	} else {
		errs = append(errs, printAims(b.out, rows))
	}
	return errors.Join(append(errs,
		writeFile(b.opt.json, func(w io.Writer) error { return writeJSON(w, b.machine, &b.gaps, b.results, rows) }),
		writeFile(b.opt.svg, func(w io.Writer) error { return writePlot(w, b.machine, rows) }))...)
}

// note prints something at once, and again below the table.
func (b *bench) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	b.notes = append(b.notes, n)
	fmt.Fprintln(b.out, n)
}

// sleep waits, or returns why the run ended.
func (b *bench) sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// eventually waits until ready returns true, and returns its error then: one that no time mends.
func (b *bench) eventually(what string, most time.Duration, ready func() (bool, error)) error {
	var last error
	for end := time.Now().Add(most); time.Now().Before(end); {
		ok, err := ready()
		if ok {
			return err
		}
		last = err
		if err := b.sleep(5 * time.Millisecond); err != nil {
			return err
		}
	}
	return errors.Join(fmt.Errorf("%s: not within %v", what, most), last)
}
