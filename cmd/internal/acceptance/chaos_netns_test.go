package acceptance

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// Bystanders exchange lossless frames, some of them more than a link takes, while hosts and a virtual machine do to the
// switch, at random, what they can, and an operator changes and asks what operators do. No frame of the bystanders is
// lost, late or doubled, and memory and goroutines are as before. CHAOS=10m lasts longer than a minute; CHAOS_SEED=N
// makes other choices.
//
//	bystanders   h1, h2, h3 at secure ports, h11 behind a second switch (h10), h7 and h9 at a trunk
//	attackers    h4, h5, h8 (a member of the trunk), virtual machine h6
func TestChaos(t *testing.T) {
	const seed, lasts = 1, time.Minute
	c := newChaos(t, chaosSetting("CHAOS_SEED", seed, func(s string) (uint64, error) {
		return strconv.ParseUint(s, 10, 64)
	}))
	until := time.Now().Add(chaosSetting("CHAOS", lasts, time.ParseDuration))
	t.Cleanup(c.showAll)
	flows, stop := c.bystanders()
	goroutines, memory := runtime.NumGoroutine(), heap()

	var all sync.WaitGroup
	for _, a := range c.attackers() {
		all.Go(func() { a.attack(until) })
	}
	all.Go(func() { c.operate(until) })
	all.Wait()

	eventually(t, "there are no more goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now, most := heap(), memory+32<<20; now > most {
		t.Errorf("memory grew from %d to %d KiB", memory>>10, now>>10)
	}
	for _, f := range flows {
		f.to.goesOn(f.from.N, f.prio, 20)
	}
	stop()
	for _, f := range flows {
		f.to.Whole(f.from, f.prio)
	}
	c.lossless("at the end")
	c.attackersLost()
	for _, what := range slices.Sorted(maps.Keys(c.done)) {
		t.Logf("%5d times: %s", c.done[what], what)
	}
}

// chaosSetting reads an environment variable.
func chaosSetting[T any](name string, otherwise T, parse func(string) (T, error)) T {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	v, err := parse(text)
	if err != nil {
		panic(fmt.Sprintf("%s=%s: %v", name, text, err))
	}
	return v
}

// heap is the memory in use, in octets.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// chaos is what the attackers and the operator share.
type chaos struct {
	t      *testing.T
	rig    *Rig
	setup  Setup
	seed   uint64
	api    *api.Client
	page   string // host:port
	second Switch // behind port 10, with h11

	mu   sync.Mutex
	done map[string]int // how often each was done
}

const (
	chaosPool   = "buffer: {lossless: {size: %dKiB}, lossy: {size: 64KiB}}\n"
	chaosKeys   = "priorities: {lossless: [3, 4]}\nfdb: []\n"
	chaosTrunk  = "trunks: {up: {uplink: p9, members: [p7, p8]}}\n"
	chaosEach   = "speed: 50M, ring: {outage: 400ms}"
	chaosLeast  = 768 // KiB of the lossless pool
	behind      = 11  // the host at the second switch
	machineHost = 6
)

func newChaos(t *testing.T, seed uint64) *chaos {
	r := NewRig(t, behind)
	far := r.Host(behind)
	must(t, r.Node.DeleteLink(PortName(behind)))
	r.Hosts = r.Hosts[:behind-1]
	sticky := "secure: sticky"
	c := &chaos{t: t, rig: r, seed: seed, done: map[string]int{}, setup: Setup{
		Keys: fmt.Sprintf(chaosPool, chaosLeast) + chaosKeys + chaosTrunk, Each: chaosEach,
		Ports: map[int]string{1: sticky, 2: sticky, 3: sticky, 10: sticky}}}
	c.page = r.serveHere(c.setup)
	t.Cleanup(r.Settle)
	c.api = api.NewClient(filepath.Join(r.Dir, "api.sock"))
	must(t, r.Lab.Link(far, "eth0", r.Host(10), "q", lab.LinkOptions{MACs: [2]net.HardwareAddr{HostMAC(behind),
		PortMAC(behind)}}))
	c.second, _ = Run(t, Parse(t, Header("second", r.Dir+"/second.sock")+fmt.Sprintf(chaosPool, chaosLeast)+chaosKeys+
		fmt.Sprintf("ports:\n  up: {interface: eth0, netns: %[1]s, %[2]s, stations: 65536}\n"+
			"  q: {netns: %[1]s, %[2]s, secure: sticky}\n",
			r.Host(10).Path(), chaosEach)))
	eventually(t, "the second switch is up", func() bool { return nicUp(c.second) })
	// Hosts and attackers run in this process. They must not keep Go's processors from the switches' threads: the
	// kernel shares the CPUs out, as between processes.
	few := runtime.GOMAXPROCS(32)
	t.Cleanup(func() { runtime.GOMAXPROCS(few) })
	r.Hosts = append(r.Hosts, far)
	return c
}

// bystanders start their flows once both switches know them.
func (c *chaos) bystanders() (flows []bystander, stop func()) {
	for _, n := range []int{1, 2, 3, behind} {
		s := assert.Got(porttest.OpenSocket(c.rig.Host(n).Path(), "eth0")).Must(c.t)
		b := Ethernet(n, n, NumberedType, pattern(50))
		copy(b, broadcastMAC)
		must(c.t, s.Send(frame.VnetHeader{}, b))
		must(c.t, s.Close())
	}
	for _, d := range []Switch{c.rig.Switch, c.second} {
		eventually(c.t, "the bystanders are known", func() bool {
			known := 0
			for _, e := range d.Source().FDB() {
				for _, n := range []int{1, 2, 3, behind} {
					if e.MAC == frame.Address(HostMAC(n)) {
						known++
					}
				}
			}
			return known == 4
		})
	}
	h := map[int]*Station{}
	for _, n := range []int{1, 2, 3, 7, 9, behind} {
		h[n] = c.rig.Station(n, macctl.ModePFC, 50e6)
		h[n].Forget.Store(true)
	}
	c.rig.Hosts = c.rig.Hosts[:behind-1]
	var stops []func()
	for n, streams := range map[int][]Stream{
		1: {{To: 2, Prio: 3, Rate: 30e6}, {To: behind, Prio: 4, Rate: 10e6}}, 3: {{To: 2, Prio: 3, Rate: 30e6},
			{To: behind, Prio: 4, Rate: 2e6}}, // so the second switch does not forget h3 in a flood of made-up stations
		2: {{To: 1, Prio: 3, Rate: 2e6}}, 7: {{To: 9, Prio: 3, Rate: 20e6}}, behind: {{To: 3, Prio: 3, Rate: 2e6}},
	} {
		stops = append(stops, h[n].Send(streams...))
		for _, s := range streams {
			flows = append(flows, bystander{from: h[n], to: h[s.To], prio: s.Prio})
		}
	}
	for _, f := range flows {
		f.to.goesOn(f.from.N, f.prio, 20)
	}
	return flows, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// lossless fails the test where a switch has lost lossless frames of others than attackers. It says so early, while the
// switch still has the event.
func (c *chaos) lossless(when string) {
	before := c.t.Failed()
	c.rig.NoLosslessDrops(4, 5, machineHost, 8)
	var second dataplane.Snapshot
	c.second.Source().Snapshot(&second)
	for _, p := range second.Ports {
		assert.True(c.t, p.Counters.LosslessDrops == [dataplane.NumPriorities + 1]uint64{} || before,
			"second switch, %s: lost lossless frames %v", p.Config.Name, p.Counters.LosslessDrops)
	}
	if !before && c.t.Failed() {
		c.t.Log(when)
	}
}

// attackersLost fails the test unless the attackers met what bounds them, which shows that they attacked.
func (c *chaos) attackersLost() {
	var lost [dataplane.NumDropReasons]uint64
	for _, n := range []int{4, 5, machineHost, 8} {
		for _, byReason := range c.rig.Snapshot(n).Counters.Drops {
			for reason, frames := range byReason {
				lost[reason] += frames
			}
		}
	}
	for _, reason := range []dataplane.DropReason{dataplane.DropSourceGuard, dataplane.DropStorm,
		dataplane.DropOversize, dataplane.DropMalformed, dataplane.DropFiltered, dataplane.DropDoubleTag,
		dataplane.DropRing} {
		assert.True(c.t, lost[reason] != 0,
			"the attackers lost no frame for the reason %s: nothing shows that they attacked", reason)
	}
}

// showAll logs what both switches show, where the test has failed.
func (c *chaos) showAll() {
	if !c.t.Failed() {
		return
	}
	for _, socket := range []string{"api.sock", "second.sock"} {
		client := api.NewClient(filepath.Join(c.rig.Dir, socket))
		for _, noun := range []string{"ports", "pfc", "queues", "buffer", "trunk", "events"} {
			text, err := client.Raw(context.Background(), noun, 0)
			c.t.Logf("%s %s: %v\n%s", socket, noun, err, text)
		}
	}
}

func (c *chaos) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what]++
}

// operate does one thing after the other until a moment.
func (c *chaos) operate(until time.Time) {
	random := rand.New(rand.NewPCG(c.seed, 0))
	for time.Now().Before(until) {
		do := operations[random.IntN(len(operations))]
		assert.NoError(c.t, do.act(c, random), "%s", do.name)
		c.note("operator: " + do.name)
		c.lossless(fmt.Sprintf("the last operation was %q", do.name))
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	}
}

// operations are what an operator does, and other programs of the machine.
var operations = []struct {
	name string
	act  func(c *chaos, random *rand.Rand) error
}{
	{"apply", func(c *chaos, random *rand.Rand) error {
		s := c.setup
		s.Keys = fmt.Sprintf(chaosPool, chaosLeast+random.IntN(512)) + chaosKeys + chaosTrunk +
			fmt.Sprintf("ageing: %ds\n", 200+random.IntN(100))
		s.Ports = maps.Clone(s.Ports)
		s.Ports[4+random.IntN(2)] = fmt.Sprintf("storm: %dM, stations: %d", 1+random.IntN(50), 1+random.IntN(8000))
		err := c.apply(s)
		if err != nil && strings.Contains(err.Error(), "try again when the buffer has drained") {
			c.note("operator: apply, not yet")
			return nil
		}
		return err
	}},
	{"apply, refused", func(c *chaos, _ *rand.Rand) error {
		s := c.setup
		s.Keys = fmt.Sprintf(chaosPool, 1) + chaosKeys + chaosTrunk
		if c.apply(s) == nil {
			return fmt.Errorf("a configuration with half a buffer was put in force")
		}
		return nil
	}},
	{"clear", func(c *chaos, random *rand.Rand) error {
		return c.api.Clear(c.t.Context(), []string{"counters", "watermarks"}[random.IntN(2)])
	}},
	{"capture", func(c *chaos, _ *rand.Rand) error {
		c.rig.startCapture(c.api, api.CaptureRequest{Snap: 96}).end()
		return nil
	}},
	{"MTU", func(c *chaos, random *rand.Rand) error { // of a port that is anybody's: another program lowers it
		mtu := fmt.Sprint(1300 + random.IntN(200))
		IP(c.t, c.rig.Node, "link", "set", "dev", PortName(1+random.IntN(10)), "mtu", mtu)
		return nil
	}},
	{"show", func(c *chaos, _ *rand.Rand) error {
		for _, noun := range []string{"ports", "pfc", "buffer", "headroom", "queues", "fdb", "lldp", "events",
			"trunk"} {
			if _, err := c.api.Show(c.t.Context(), noun); err != nil {
				return err
			}
		}
		return nil
	}},
	{"scrapes", func(c *chaos, _ *rand.Rand) error {
		client := &http.Client{Timeout: Timeout, Transport: &http.Transport{DisableKeepAlives: true}}
		for range 5 {
			a, err := client.Get("http://" + c.page + "/metrics")
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, a.Body)
			_ = a.Body.Close()
		}
		return nil
	}},
}

func (c *chaos) apply(s Setup) error {
	parsed, _, err := config.Parse("test.yaml", c.rig.served(s))
	if err == nil {
		_, err = c.rig.Switch.Apply(c.t.Context(), parsed)
	}
	return err
}
