package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
)

// put puts a configuration in force that is written out.
func (r *rig) put(keys, ports string) error {
	r.T.Helper()
	_, err := r.d().Apply(context.Background(), parse(r.T, header("test", r.Dir+"/api.sock")+keys+"ports:\n"+
		strings.ReplaceAll(ports, "NS", r.Node.Path())))
	return err
}

// addrGenMode is how the kernel makes the link-local addresses of an interface of the switch; 1 is not at all.
func (r *rig) addrGenMode(name string) (mode string) {
	r.T.Helper()
	must(r.T, r.Node.Do(func() error {
		b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + name + "/addr_gen_mode")
		if os.IsNotExist(err) {
			r.T.Skip("this kernel has no IPv6, so there are no addresses to take away")
		}
		mode = strings.TrimSpace(string(b))
		return err
	}))
	return mode
}

// A configuration whose sockets cannot be opened is refused, and the ports go on with those they have.
func TestApplyThatCannotOpen(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3})
	must(t, r.Lab.Link(r.Host(2), "eth1", r.Node, "p3", lab.LinkOptions{}))
	must(t, r.Node.AddAddr("p3", "192.0.2.1/24"))
	before := r.d().ports["p1"].socket
	r.d().openAFPacket = func(c port.Config) (*port.AFPacket, error) {
		if c.OtherSlots == 4096 {
			return nil, errors.New("no memory for the rings")
		}
		return port.Prepare(c)
	}
	for _, tt := range []struct{ name, ports, want string }{
		{"another interface, which is in use", "  p1: {interface: p3, netns: NS}\n  p2: {netns: NS}\n",
			"has the address 192.0.2.1/24"},
		{"rings that the kernel cannot make", "  p1: {netns: NS, ring: {other: 4096}}\n  p2: {netns: NS}\n",
			"ports.p1: no memory"},
		{"a new port among them", "  p1: {netns: NS}\n  p2: {netns: NS}\n  p4: {interface: p3, force: true, netns: " +
			"NS, ring: {other: 4096}}\n", "ports.p4: no memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := r.put(Lossless3, tt.ports)
			assert.True(t, err != nil && strings.Contains(err.Error(), tt.want) &&
				strings.HasPrefix(err.Error(), "test.yaml:"), "error %v, want its line and %q", err, tt.want)
			assert.True(t, r.d().ports["p1"].socket == before && r.d().ports["p4"] == nil,
				"a refused configuration has changed the ports")
		})
	}
	r.Passes(1, 2)
	r.Passes(2, 1)
}

// apply says which keys change and which ports it gives other sockets; dry, it changes nothing.
func TestApplySaysWhatChanges(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3})
	must(t, r.put(Lossless3, "  p1: {netns: NS}\n  p2: {netns: NS}\n"))
	before, socket := string(r.Source().ConfigYAML()), r.d().ports["p1"].socket
	yaml := []byte(strings.ReplaceAll(header("test", r.Dir+"/api.sock")+Lossless3+
		"ports:\n  p1: {netns: NS, ring: {other: 4096}}\n  p2: {netns: NS, stations: 100}\n", "NS", r.Node.Path()))
	for _, dry := range []bool{true, false} {
		a := assert.Got(r.Source().Apply(t.Context(), "new.yaml", yaml, dry)).Must(t)
		var keys []string
		for _, c := range a.Changes {
			keys = append(keys, c.Key)
		}
		for _, want := range []string{"ports.p1.ring.other", "ports.p2.stations"} {
			assert.True(t, slices.Contains(keys, want), "dry %v: it changes %v, want %s among them", dry, keys, want)
		}
		assert.Same(t, a.PortsReset, []string{"p1"}, "dry %v: it resets", dry)
		same := string(r.Source().ConfigYAML()) == before && r.d().ports["p1"].socket == socket
		assert.True(t, same == dry, "dry %v: configuration and sockets are as before: %v", dry, same)
	}
	again, err := r.Source().Apply(t.Context(), "new.yaml", yaml, false)
	assert.True(t, err == nil && len(again.Changes)+len(again.PortsReset) == 0,
		"the same file again: %+v, %v", again, err)
	r.Passes(1, 2)
}

// A dry run refuses what apply refuses without opening anything: here more ports than there are numbers.
func TestDryRunRefusesWhatApplyRefuses(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3})
	d := r.d()
	d.mu.Lock()
	numbers := d.numbers
	d.numbers = maps.Clone(numbers)
	for n := len(numbers); n < dataplane.MaxPorts; n++ {
		d.numbers[fmt.Sprintf("old%d", n)] = n
	}
	d.mu.Unlock()
	yaml := []byte(strings.ReplaceAll(header("test", r.Dir+"/api.sock")+Lossless3+
		"ports:\n  p1: {netns: NS}\n  p2: {netns: NS}\n  p3: {}\n", "NS", r.Node.Path()))
	_, err := r.Source().Apply(t.Context(), "new.yaml", yaml, true)
	d.mu.Lock()
	d.numbers = numbers
	d.mu.Unlock()
	assert.Fails(t, err, "ports: 257 ports, those that go counted in", "error")
}

// The metrics address of the command line stays when a file with another one is applied.
func TestApplyKeepsMetricsOfTheCommandLine(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3})
	d := r.d()
	given := assert.Got(d.published.Load().cfg.WithMetrics("127.0.0.1:1")).Must(t)
	d.mu.Lock()
	d.cfg = given
	d.mu.Unlock()
	must(t, r.put(Lossless3, "  p1: {netns: NS}\n  p2: {netns: NS, stations: 100}\n"))
	now := d.published.Load().cfg
	if m := now.Metrics; m.Listen != "127.0.0.1:1" || now.Ports[1].Stations != 100 {
		t.Errorf("after apply the address is %q, and p2 may have %d stations", m.Listen, now.Ports[1].Stations)
	}
}

// Ports that exchange their interfaces keep them quiet.
func TestApplyExchangesInterfaces(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3})
	modes := []string{r.addrGenMode("p1"), r.addrGenMode("p2")}
	must(t, r.put(Lossless3, "  p1: {interface: p2, netns: NS}\n  p2: {interface: p1, netns: NS}\n"))
	r.WaitUp(1, true)
	r.WaitUp(2, true)
	got := []string{r.addrGenMode("p1"), r.addrGenMode("p2")}
	assert.True(t, got[0] == modes[0] && got[1] == modes[1] && got[0] == "1",
		"addr_gen_mode %v, was %v, want 1", got, modes)
	r.Passes(1, 2)
	r.Halt()
	assert.True(t, r.addrGenMode("p1") != "1", "after the switch the interface makes no addresses")
}

// Two ports on one interface would each get half of its frames, whatever its namespace is called.
func TestInterfaceTwiceByOtherNames(t *testing.T) {
	r := newRig(t, 1)
	alias := r.Dir + "/alias"
	must(t, os.Symlink(r.Node.Path(), alias))
	for _, name := range []string{r.Node.Path(), alias} {
		c, _, err := config.Parse("test.yaml", []byte(header("test", r.Dir+"/api.sock")+
			"ports:\n  a: {interface: p1, netns: "+r.Node.Path()+"}\n  b: {interface: p1, netns: "+name+"}\n"))
		if err == nil {
			_, err = New(c, discards)
		}
		assert.True(t, err != nil && strings.Contains(err.Error(), "test.yaml:6: ports.b.interface: ") &&
			strings.Contains(err.Error(), "is already port a"), "error %v, want one that names both ports", err)
	}
}

// A switch that is started twice leaves the first and its interfaces alone.
func TestStartedTwice(t *testing.T) {
	r := start(t, 2, Setup{})
	mode := r.addrGenMode("p1")
	_, err := New(r.Parse(Setup{}), discards)
	assert.Fails(t, err, "another switch listens there", "error")
	got := r.addrGenMode("p1")
	assert.True(t, got == mode, "addr_gen_mode %s, want %s as the first switch set it", got, mode)
	r.Passes(1, 2)
}

// A switch whose metrics address is taken touches nothing either, and gives its socket back.
func TestMetricsAddressTaken(t *testing.T) {
	r := newRig(t, 1)
	mode := r.addrGenMode("p1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	c := r.Parse(Setup{})
	c.Metrics.Listen = l.Addr().String()
	for range 2 {
		_, err = New(c, discards)
		assert.True(t, err != nil && strings.Contains(err.Error(), "metrics.listen: ") &&
			strings.Contains(err.Error(), "take another address"), "error %v, want one about the metrics address", err)
	}
	got := r.addrGenMode("p1")
	assert.True(t, got == mode, "addr_gen_mode %s, was %s", got, mode)
}

// What cannot be undone any more is no error of apply, but an event.
func TestApplyWarns(t *testing.T) {
	r := start(t, 2, Setup{})
	r.d().ports["p2"].restore = func() error { return errors.New("the interface stays quiet") }
	must(t, r.put("", "  p1: {netns: NS}\n"))
	assert.True(t, len(r.d().cfg.Ports) == 1 && len(r.d().numbers) == 1,
		"the daemon does not know the configuration that is in force")
	got := r.Events(dataplane.EventPort, 2)
	assert.True(t, len(got) == 1 && strings.Contains(got[0].Text, "the interface stays quiet"),
		"events %+v, want one that says what failed", got)
}

// Readers do not wait for a change.
func TestReadersDoNotWait(t *testing.T) {
	r := start(t, 1, Setup{})
	r.d().mu.Lock()
	defer r.d().mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := r.d().Source()
		assert.True(t, s.Name() == "test" && len(s.Ports()) == 1 && len(s.ConfigYAML()) != 0 &&
			len(r.d().metricsPorts()) == 1, "the readers are told something else than what is in force")
		server := api.NewServer(s, time.Now(), runner.Now())
		for _, noun := range api.Nouns() {
			begun, w := time.Now(), httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest("GET", "/v1/"+noun, nil))
			assert.Equal(t, w.Code, 200, "show %s: %s", noun, w.Body)
			t.Logf("show %s took %v", noun, time.Since(begun))
		}
	}()
	select {
	case <-done:
	case <-time.After(Timeout):
		t.Error("a reader waits for the change")
	}
}
