package bench

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// options say what is measured.
type options struct {
	rounds     int           // of each part, interleaved
	search     int           // rounds of the search for the loss-free rate
	confirm    int           // trials without loss that confirm a search's result
	precision  float64       // of the search, share of the rate
	seconds    time.Duration // of a measurement
	trial      time.Duration // of a trial of the search
	settle     time.Duration // before and after a load
	octets     []int
	priorities []int
	parts      []part
	switches   []string // those that are compared
	json, svg  string   // files; "" for none, standardOutput for that
	smoke      bool
	packet     bool // senders use the packet socket alone
}

// A part of the benchmark stands alone: it makes its networks, measures in rounds and removes them.
type part struct {
	name string
	what string // for people
	run  func(*bench) error
}

var parts = []part{
	{"frames", "delivered rate, CPU a frame and a GB, memory", (*bench).frames},
	{"lossfree", "loss-free rate (RFC 2544 search)", (*bench).lossFree},
	{"tcp", "TCP with default offloads (iperf3)", (*bench).tcp},
	{"latency", "one-way latency, idle and at half load, and the machine's own gaps", (*bench).latency},
	{"xoff", "how fast XOFF leaves pfcswitch", (*bench).xoff},
	{"pause", "how exactly pfcswitch keeps pause times", (*bench).pause},
	{"ports", "pfcswitch with 2 to 32 ports", (*bench).ports},
	{"fabric", "pfcswitch's labs of 1 to 80 switches in which nobody sends", (*bench).fabric},
	{"incast", "TCP in one pod of pfcswitch's fat tree of 80 switches beside an incast in another", (*bench).incast},
	{"fdb", "pfcswitch with 100,000 stations", (*bench).fdb},
	{"trunk", "pfcswitch's ports as a trunk", (*bench).trunk},
	{"flap", "time to forward again after a port flap", (*bench).flap},
}

// smokeDefaults make a run that only shows that every part works.
var smokeDefaults = map[string]string{"rounds": "1", "search": "1", "seconds": "0.2", "trial": "0.1", "octets": "60",
	"priorities": "3", "json": "", "svg": ""}

func parseOptions(args []string, errOut io.Writer) (o options, err error) {
	f := flag.NewFlagSet("bench.sh", flag.ContinueOnError)
	f.SetOutput(errOut)
	var seconds, trial float64
	var octets, priorities, only, switches string
	f.IntVar(&o.rounds, "rounds", 7, "interleaved `rounds` of each part")
	f.IntVar(&o.search, "search", -1, "rounds of the search for the loss-free rate (default as --rounds; 0: none)")
	f.Float64Var(&seconds, "seconds", 3, "length of a measurement")
	f.Float64Var(&trial, "trial", 3, "length of a trial of the search")
	f.StringVar(&octets, "octets", "60 512 1514", "frame `lengths`, with the tag, without FCS")
	f.StringVar(&priorities, "priorities", "0 3", "`priorities` of the frames")
	f.StringVar(&only, "only", "", "these `parts` alone: "+strings.Join(partNames(), " "))
	f.StringVar(&switches, "switches", "", "compare these `switches` alone: "+strings.Join(switchNames, " "))
	f.StringVar(&o.json, "json", "bench.json",
		"`file` for the single results and their summary as JSON lines; - is the standard output, \"\" none")
	f.StringVar(&o.svg, "svg", "bench.svg", "`file` for a plot, likewise")
	f.BoolVar(&o.packet, "packet-socket", false, "senders use the packet socket alone, as before Linux 6.17")
	f.BoolVar(&o.smoke, "smoke", false, "does every part work? (seconds; the figures mean nothing)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.confirm, o.precision, o.settle = 3, 0.02, 300*time.Millisecond
	if o.smoke {
		o.confirm, o.precision, o.settle = 1, 0.5, 50*time.Millisecond
		given := map[string]bool{}
		f.Visit(func(x *flag.Flag) { given[x.Name] = true })
		for name, value := range smokeDefaults {
			if !given[name] {
				_ = f.Set(name, value) // they are ours, and right
			}
		}
	}
	if o.search < 0 {
		o.search = o.rounds
	}
	o.seconds = time.Duration(seconds * float64(time.Second))
	o.trial = time.Duration(trial * float64(time.Second))
	var errs [4]error
	o.octets, errs[0] = numbers("--octets", octets, 60, 1514)
	o.priorities, errs[1] = numbers("--priorities", priorities, 0, 7)
	var names []string
	names, errs[2] = chosen("--only", "part", only, partNames())
	o.parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(names, p.name) })
	o.switches, errs[3] = chosen("--switches", "switch", switches, switchNames)
	if err = cmp.Or(errs[0], errs[1], errs[2], errs[3], o.check(f.Args())); err != nil {
		fmt.Fprintln(errOut, "bench.sh:", err)
	}
	return o, err
}

// chosen returns the words of an option, in the order of all; all of them where the option has none.
func chosen(option, what, text string, all []string) (some []string, err error) {
	wanted := words(text)
	for _, w := range wanted {
		if !slices.Contains(all, w) {
			return nil, fmt.Errorf("%s %s: there is no such %s; there are: %s", option, w, what, strings.Join(all, " "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return len(wanted) > 0 && !slices.Contains(wanted, name)
	}), nil
}

func (o *options) compares(name string) bool { return slices.Contains(o.switches, name) }

func (o *options) check(rest []string) error {
	const longest = time.Hour
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%s is not an option: see --help", rest[0])
	case o.rounds < 1:
		return fmt.Errorf("--rounds %d: it has to be at least 1", o.rounds)
	case o.seconds < 100*time.Millisecond || o.seconds > longest:
		return fmt.Errorf("--seconds %v: from 0.1 to %v", o.seconds.Seconds(), longest.Seconds())
	case o.trial < 100*time.Millisecond || o.trial > longest:
		return fmt.Errorf("--trial %v: from 0.1 to %v", o.trial.Seconds(), longest.Seconds())
	case o.json == standardOutput && o.svg == standardOutput:
		return errors.New("--json - --svg -: only one of them can be the standard output")
	}
	return nil
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}

// numbers returns the numbers of an option, at least one.
func numbers(option, text string, least, most int) (all []int, err error) {
	for _, w := range words(text) {
		n, err := strconv.Atoi(w)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("%s: %s: whole numbers from %d to %d, such as \"%d %d\"", option, w, least, most,
				least, most)
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: none given: whole numbers from %d to %d", option, least, most)
	}
	return all, nil
}

// standardOutput is the file name that means the standard output. What people read then goes to the standard error
// output.
const standardOutput = "-"

// folderVariable is where scripts/bench.sh, which goes to its repository, says from which folder it was called.
const folderVariable = "BENCH_FOLDER"

// filesIn makes relative names of files relative to a folder.
func (o *options) filesIn(folder string) {
	for _, name := range []*string{&o.json, &o.svg} {
		if *name != "" && *name != standardOutput && !filepath.IsAbs(*name) {
			*name = filepath.Join(folder, *name)
		}
	}
}

// announce says what the run writes at its end. A file that cannot be written is an error, or else hours of measuring
// would end without their results.
func (o *options) announce(out io.Writer) error {
	var errs []error
	for _, f := range []struct{ name, what string }{{o.json, "the results as JSON lines"}, {o.svg, "the plot"}} {
		switch f.name {
		case "":
		case standardOutput:
			fmt.Fprintf(out, "%s: to the standard output\n", f.what)
		default:
			fmt.Fprintf(out, "%s: to %s at the end, in place of what stands there\n", f.what, f.name)
			if err := unix.Access(filepath.Dir(f.name), unix.W_OK); err != nil {
				errs = append(errs, fmt.Errorf("%s cannot be written: %w", f.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// writeFile writes a file as a whole; "" is none.
func writeFile(name string, write func(io.Writer) error) error {
	switch name {
	case "":
		return nil
	case standardOutput:
		return write(os.Stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
