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

// A fabric is a lab that the part brings up.
type fabric struct {
	name, yaml string
	ports      int // of its switches
}

// fabrics are the labs of the part in which nobody sends, all at 100M.
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
	return fabric{fmt.Sprintf("star%d", n), s.String(), n}
}

func fatTree(k int) fabric {
	return fabric{fmt.Sprintf("fat_tree%d", k), fatTreeYAML(k, "100M"), fatTreePorts(k)}
}

func fatTreeYAML(k int, speed string) string {
	return fmt.Sprintf("fabric: {fat-tree: {k: %d}, links: {speed: %s}, switches: {preset: roce}}\n", k, speed)
}

// fatTreePorts is how many ports all switches of a fat tree have: k of each of k pods, and as many of (k/2)² cores.
func fatTreePorts(k int) int { return k * (k*k + k*k/4) }

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
func (b *bench) idleFabric(f fabric) error {
	return b.inLab(f, func(l *upLab) error {
		starts, err := l.ownStarts()
		if err != nil {
			return err
		}
		values, err := b.idleValues()
		if err == nil {
			values = append(values, value{upAfter, l.took.Seconds()}, value{outage, starts[len(starts)/2]},
				value{outageMost, starts[len(starts)-1]})
			b.record("fabric", "load=idle fabric="+f.name, dutPFC, 0, values...)
		}
		return err
	})
}

// An upLab is a lab that is up.
type upLab struct {
	*bench
	name, file string
	took       time.Duration // until all of its switches forwarded
}

// inLab brings a lab up, uses it, and takes it down also where the run was ended meanwhile.
func (b *bench) inLab(f fabric, use func(*upLab) error) (err error) {
	if err := f.fits(field("/proc/meminfo", "MemAvailable")); err != nil {
		return err
	}
	l := &upLab{bench: b, name: fmt.Sprintf("%s.%d", f.name, os.Getpid()), file: filepath.Join(b.work, f.name+".yaml")}
	if err := os.WriteFile(l.file, []byte("name: "+l.name+"\n"+f.yaml), 0o600); err != nil {
		return err
	}
	began := time.Now()
	if _, err := b.local(fabricQuiet, nil, b.program, "lab", "up", l.file); err != nil {
		return err
	}
	l.took = time.Since(began)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), fabricQuiet)
		defer cancel()
		_, down := local(ctx, nil, b.program, "lab", "down", l.file)
		err = errors.Join(err, down)
	}()
	return use(l)
}

// portKB is more than what a port takes in a lab of 20 or 80 switches, with all that its switch has: 2.5 to 2.8 MiB.
const portKB = 4 << 10

// fits returns an error where the memory that is available ("12345 kB") does not suffice for a lab.
func (f *fabric) fits(available string) error {
	kB, err := strconv.Atoi(strings.TrimSuffix(available, " kB"))
	if err != nil || kB < f.ports*portKB {
		return fmt.Errorf("%d ports take up to %d MiB, and of memory is available: %s", f.ports, f.ports*portKB>>10,
			available)
	}
	return nil
}

// sockets are the control sockets of a lab's switches.
func (l *upLab) sockets() ([]string, error) {
	sockets, err := filepath.Glob(config.LabSocket(l.name, "*"))
	if err == nil && len(sockets) == 0 {
		err = errors.New("no switch has a control socket")
	}
	return sockets, err
}

// ownStarts returns how many ms each switch of a lab took from its own start until its last port was in service, in
// order.
func (l *upLab) ownStarts() (ms []float64, err error) {
	sockets, err := l.sockets()
	for _, socket := range sockets {
		events, err := ask[*api.Events](l.ctx, socket, "events")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", socket, err)
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

// idleValues measures the switches and the keeper of a lab in which nobody sends.
func (b *bench) idleValues() ([]value, error) {
	quiet := fabricQuiet
	if b.opt.smoke {
		quiet = b.opt.settle
	}
	if err := b.sleep(quiet); err != nil {
		return nil, err
	}
	switches, err := b.running("run")
	if err != nil {
		return nil, err
	}
	keeper, err := b.running("lab", "hold")
	if err != nil {
		return nil, err
	}
	before, err := scheduledOf(switches, keeper)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.sleep(fabricLong * b.opt.seconds); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	after, err := scheduledOf(switches, keeper)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]value{{processNumber, float64(len(switches))}}, after[0].since(&before[0], took, ""),
		after[1].since(&before[1], took, ofKeeper)), nil
}

// running returns the numbers of the processes that run a command of pfcswitch: "run" is that of a lab's switches, and
// "lab hold" of its keeper.
func (b *bench) running(command ...string) (all []string, err error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	for _, l := range links {
		dir := filepath.Dir(l)
		if to, err := os.Readlink(l); err != nil || to != b.program {
			continue // of another program, or it has ended
		}
		line, err := os.ReadFile(dir + "/cmdline")
		args := strings.Split(string(line), "\x00")
		if n := len(command); err == nil && len(args) > n && slices.Equal(args[1:n+1], command) {
			all = append(all, filepath.Base(dir))
		}
	}
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no process runs pfcswitch %s", strings.Join(command, " "))
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

// scheduledOf is scheduled of the switches and of the keeper.
func scheduledOf(switches, keeper []string) (both [2]schedule, err error) {
	if both[0], err = scheduled(switches); err == nil {
		both[1], err = scheduled(keeper)
	}
	return both, err
}

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

// since is what processes have now, and what they used in some seconds. of begins the names of the values.
func (s *schedule) since(before *schedule, took float64, of string) []value {
	return []value{{of + pss, s.pss / (1 << 20)}, {of + coreShare, 100 * (s.cpu - before.cpu).Seconds() / took},
		{of + wakeUps, float64(s.wakeUps-before.wakeUps) / took}, {of + threads, float64(s.threads)}}
}
