package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A bench is one run.
type bench struct {
	ctx        context.Context
	opt        options
	out        io.Writer
	work       string // folder of this run
	prefix     string // of its namespaces
	self       string // this program
	program    string // pfcswitch
	peers      peers
	withoutTSO bool // the peer's build has none
	machine    machine
	children   []*process
	results    []result
	notes      []string
	gaps       gaps // of the machine, added up over the rounds
}

// whole is the run from its first file to its last.
func (b *bench) whole() (err error) {
	if err := b.opt.announce(b.out); err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return errors.Join(err, b.close())
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.machine = b.describe()
	fmt.Fprintln(b.out, b.machine.text())
	if !b.opt.smoke {
		fmt.Fprintln(b.out, b.estimate())
	}
	start := time.Now()
	atStart, err := machineTimes()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.show(start, atStart)) }()
	var failed []error
	for _, p := range b.opt.parts {
		start := time.Now()
		err := p.run(b)
		if b.ctx.Err() != nil { // what two hours have measured is not thrown away
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
		if err := b.verify(); err != nil {
			failed = append(failed, fmt.Errorf("a figure is not what it says: %w", err))
		}
	}
	return errors.Join(failed...)
}

// prepare gets folder and programs.
func (b *bench) prepare() (err error) {
	b.prefix = fmt.Sprintf("%s%d-", namespacePrefix, os.Getpid())
	if err := sweep(0); err != nil { // our own folder holds this program
		return fmt.Errorf("clear what runs that were killed have left: %w", err)
	}
	if b.work, err = os.MkdirTemp("", b.prefix); err != nil {
		return err
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.program = filepath.Join(b.work, "pfcswitch")
	build, err := b.start("", "go", "build", "-o", b.program, "./cmd/pfcswitch")
	if err != nil {
		return err
	}
	if _, err := b.wait(build, 10*patience); err != nil {
		return err
	}
	b.peers = b.findPeers()
	return nil
}

// close ends all that was started and removes all that was made.
func (b *bench) close() error {
	for len(b.children) > 0 {
		last := b.children[len(b.children)-1]
		last.stop()
		b.forget(last)
	}
	return sweep(os.Getpid())
}

// show prints the table and writes the files. The run began at start.
func (b *bench) show(start time.Time, atStart cpuTimes) error {
	atEnd, err := machineTimes()
	b.machine.Stolen = stolenShare(atStart, atEnd, time.Since(start))
	rows := summarize(b.results)
	errs := []error{err, printTable(b.out, rows)}
	fmt.Fprintf(b.out, "While this ran, the machine's host took %.2f %% of the CPUs' time for others (steal), which is in no figure of the machine's\n"+
		"CPU time; whether a process's own (switch_cpu, percent_of_a_core) holds some is a matter of the kernel's accounting.\n", 100*b.machine.Stolen)
	for _, n := range append(slices.Clone(b.notes), notHalf(b.results)...) {
		fmt.Fprintln(b.out, n)
	}
	errs = append(errs, printGaps(b.out, &b.gaps))
	if b.opt.smoke {
		fmt.Fprintln(b.out, "A smoke run: the figures mean nothing.")
	} else {
		errs = append(errs, printAims(b.out, rows))
	}
	errs = append(errs, writeFile(b.opt.json, func(w io.Writer) error { return writeJSON(w, b.machine, &b.gaps, b.results, rows) }),
		writeFile(b.opt.svg, func(w io.Writer) error { return plot(w, b.machine, rows) }))
	if b.opt.smoke {
		errs = append(errs, b.judgeSmoke(rows))
	}
	return errors.Join(errs...)
}

// once is a note that is made only once.
func (b *bench) once(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(b.notes, n) {
		b.note("%s", n)
	}
}

// note says something at once, and again below the table.
func (b *bench) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	b.notes = append(b.notes, n)
	fmt.Fprintln(b.out, n)
}
