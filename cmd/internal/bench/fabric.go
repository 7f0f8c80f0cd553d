package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
)

// A fabric is a lab in which nobody sends.
type fabric struct{ name, yaml string }

// fabrics are the labs of the part, all at 100M.
func (b *bench) fabrics() []fabric {
	all := []fabric{star(4), star(32), fatTree(4), fatTree(8)}
	if b.opt.smoke {
		all = all[:1]
	}
	return all
}

func star(n int) fabric {
	var s strings.Builder
	s.WriteString("switches: {s1: {preset: roce}}\nhosts:\n")
	for i := range n {
		fmt.Fprintf(&s, "  h%d: {}\n", i+1)
	}
	s.WriteString("links:\n")
	for i := range n {
		fmt.Fprintf(&s, "  l%d: {ends: [h%[1]d, \"s1:p%[1]d\"], speed: 100M}\n", i+1)
	}
	return fabric{fmt.Sprintf("star%d", n), s.String()}
}

func fatTree(k int) fabric {
	return fabric{fmt.Sprintf("fat_tree%d", k),
		fmt.Sprintf("fabric: {fat-tree: {k: %d}, links: {speed: 100M}, switches: {preset: roce}}\n", k)}
}

// fabricQuiet is how long nobody sends before an idle fabric is measured: measurements of headroom have become rare by
// then.
const fabricQuiet = 90 * time.Second

// fabricLong is how many measurements of others last as long as one of an idle fabric.
const fabricLong = 10

// fabric measures each lab once: it takes minutes, and what idles gives the same figures again.
func (b *bench) fabric() error {
	for _, f := range b.fabrics() {
		if err := b.idleFabric(f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// idleFabric brings a lab up, measures it while nobody sends, and takes it down.
func (b *bench) idleFabric(f fabric) (err error) {
	file := filepath.Join(b.work, f.name+".yaml")
	name := fmt.Sprintf("%s.%d", f.name, os.Getpid())
	if err := os.WriteFile(file, []byte("name: "+name+"\n"+f.yaml), 0o600); err != nil {
		return err
	}
	began := time.Now()
	if _, err := b.local(fabricQuiet, nil, b.program, "lab", "up", file); err != nil {
		return err
	}
	up := time.Since(began)
	defer func() {
		_, down := b.local(fabricQuiet, nil, b.program, "lab", "down", file)
		err = errors.Join(err, down)
	}()
	starts, err := ownStarts(name)
	if err != nil {
		return err
	}
	values, err := b.idleValues()
	if err == nil {
		values = append(values, value{upAfter, up.Seconds()}, value{outage, starts[len(starts)/2]},
			value{outageMost, starts[len(starts)-1]})
		b.record("fabric", "load=idle fabric="+f.name, dutPFC, 0, values...)
	}
	return err
}

// ownStarts returns how many ms each switch of a lab took from its own start until its last port was in service, in
// order.
func ownStarts(lab string) (ms []float64, err error) {
	sockets, err := filepath.Glob(config.LabSocket(lab, "*"))
	if err == nil && len(sockets) == 0 {
		err = errors.New("no switch has a control socket")
	}
	for _, socket := range sockets {
		reply, asked := api.NewClient(socket).Show(context.Background(), "events")
		events, ok := reply.(*api.Events)
		if !ok {
			return nil, fmt.Errorf("%s: %w", socket, asked)
		}
		var up time.Time
		for _, e := range events.Events {
			if e.Kind == string(dataplane.EventPortUp) {
				up = e.Time
			}
		}
		ms = append(ms, float64(up.Sub(events.Started))/float64(time.Millisecond))
	}
	slices.Sort(ms)
	return ms, err
}

// idleValues measures the switches of a lab in which nobody sends.
func (b *bench) idleValues() ([]value, error) {
	quiet := fabricQuiet
	if b.opt.smoke {
		quiet = b.opt.settle
	}
	if err := b.sleep(quiet); err != nil {
		return nil, err
	}
	processes, err := b.processes()
	if err != nil {
		return nil, err
	}
	before, err := scheduled(processes)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.sleep(fabricLong * b.opt.seconds); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	after, err := scheduled(processes)
	return []value{{processNumber, float64(len(processes))}, {pss, after.pss / (1 << 20)},
		{coreShare, 100 * (after.cpu - before.cpu).Seconds() / took},
		{wakeUps, float64(after.wakeUps-before.wakeUps) / took}, {threads, float64(after.threads)}}, err
}

// processes returns the numbers of the lab's switches.
func (b *bench) processes() (all []string, err error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	for _, l := range links {
		dir := filepath.Dir(l)
		if to, err := os.Readlink(l); err != nil || to != b.program {
			continue // of another program, or it has ended
		}
		line, err := os.ReadFile(dir + "/cmdline")
		if args := strings.Split(string(line), "\x00"); err == nil && len(args) > 1 && args[1] == "run" {
			all = append(all, filepath.Base(dir))
		}
	}
	if err == nil && len(all) == 0 {
		err = errors.New("no switch runs")
	}
	return all, err
}

// A schedule is what processes have used since they began.
type schedule struct {
	cpu     time.Duration
	wakeUps uint64  // how often a thread went to sleep by itself
	threads int     // now
	pss     float64 // octets in RAM, now
}

var sleeps = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+([0-9]+)$`)

// scheduled adds up what processes have used. A thread that has ended takes its sleeps with it, but not its CPU time.
func scheduled(processes []string) (all schedule, err error) {
	for _, number := range processes {
		if err := all.add(number); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (s *schedule) add(number string) error {
	pid, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	cpu, err := cpuTime(pid)
	if err != nil {
		return err
	}
	rollup, err := os.ReadFile("/proc/" + number + "/smaps_rollup")
	if err != nil {
		return err
	}
	_, inRAM, err := parseRollup(rollup)
	if err != nil {
		return err
	}
	s.cpu, s.pss = s.cpu+cpu, s.pss+inRAM
	tasks, err := filepath.Glob("/proc/" + number + "/task/*/status")
	for _, t := range tasks {
		text, _ := os.ReadFile(t) // the thread may have ended
		if m := sleeps.FindSubmatch(text); m != nil {
			n, _ := strconv.ParseUint(string(m[1]), 10, 64) // these are digits
			s.wakeUps, s.threads = s.wakeUps+n, s.threads+1
		}
	}
	return err
}
