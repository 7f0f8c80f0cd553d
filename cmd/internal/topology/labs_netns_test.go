package topology

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// Labs of the real program, as a user has them: how they come and go.
func TestLabsComeAndGo(t *testing.T) {
	newRig(t).parts(map[string]func(*rig){
		"refused": refusedTopologies, "interrupted": interruptedUp, "atomic": failedUp, "nic": hostNIC,
		"said": keeperLog, "onestart": oneCannotStart, "served": servedWhileOthersStart,
		"manyinprocess": oneProcessOfMany,
		"late":          interruptedWhenReady, "collected": collectedKeeper, "refusedruns": refusedRuns,
		"otherversion": otherVersion,
	}, nil)
}

// What labs carry, and what is left where one was killed a moment ago, is a matter of time.
func TestLabs(t *testing.T) {
	newRig(t).parts(map[string]func(*rig){
		"examples": examples, "inprocess": inOneProcess, "restart": oneRestarts, "killedrestarts": killedRestarts,
		"virtual":      sameInVirtualTime,
		"virtualholds": sameHoldsInVirtualTime, "virtualdcqcn": slowedInVirtualTime, "runs": runsInALab,
		"virtualsizes": sizesInVirtualTime, "virtualfaults": faultsInVirtualTime,
		"virtualwindows": windowsInVirtualTime, "ordinary": unprivilegedUser, "interruptedrun": interruptedRun,
	}, map[string]func(*rig){"heldlong": heldLong, "locksup": locksUp, "killed": killedKeeper, "others": foreignSocket})
}

// parts runs the parts of a test, and then those that leave most of the CPU, side by side.
func (r *rig) parts(busy, waiting map[string]func(*rig)) {
	for name, part := range busy {
		r.t.Run(name, func(t *testing.T) { part(r.withTest(t)) })
	}
	for name, part := range waiting {
		r.t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(r.withTest(t))
		})
	}
}

// A flow goes from one host to another; mac is the destination's address where the sender needs one.
type flow struct{ from, to, mac string }

// Every example comes up, carries more than its links do, loses nothing, and goes without a trace.
func examples(r *rig) {
	const h1, h2, h3 = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"
	load := map[string][]flow{
		"incast":     {{"h1", "h4", ""}, {"h2", "h4", ""}, {"h3", "h4", ""}},
		"ring":       {{"h1", "h2", h2}, {"h3", "h2", h2}},
		"trunk":      {{"h1", "h2", ""}},
		"hosts":      nil, // a NIC's programs are its own
		"machines":   {{"h1", "h3", ""}, {"h4", "h3", ""}},
		"leaf-spine": {{"h1", "h3", h3}, {"h2", "h3", h3}, {"h4", "h1", h1}},
	}
	files := assert.Got(filepath.Glob("../../../scripts/lab/*.yaml")).Must(r.t)
	assert.Equal(r.t, len(files), len(load), "examples, want one for each load")
	for _, file := range files {
		r.t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text := assert.Got(os.ReadFile(file)).Must(t)
			p := r.withTest(t)
			if bytes.Contains(text, []byte("mtu: 1446")) {
				p.octets = 1464
			}
			path, name := p.file(string(text))
			s := p.up(path, name)
			if flows := load[filepath.Base(t.Name())]; flows != nil {
				p.checkTraffic(path, flows)
			} else if out := p.run("lab", "exec", path, "h1", "ip", "address", "show", "host0"); !strings.Contains(out,
				"10.0.0.1/24") {
				t.Errorf("a host NIC has no address: %s", out)
			}
			for _, n := range s.Nodes {
				if n.Kind == "switch" {
					p.checkLossless(n)
				}
			}
			p.run("lab", "down", path)
			p.checkNothingLeft(name)
		})
	}
}

// checkTraffic sends all flows at once, as fast as they go, and wants every frame, in order, though senders are held.
func (r *rig) checkTraffic(path string, flows []flow) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	inside := func(node string, args ...string) *exec.Cmd {
		args = append([]string{"lab", "exec", "--part=" + r.partOf[node], path, node, r.program}, args...)
		return exec.CommandContext(ctx, r.program, args...)
	}
	expect := map[string]int{}
	for _, f := range flows {
		expect[f.to]++
	}
	type result struct {
		out []byte
		err error
	}
	sinks, senders := make(chan result, len(expect)), make(chan result, len(flows))
	start := func(to chan<- result, node string, args ...string) {
		go func() {
			out, err := inside(node, args...).Output()
			to <- result{out, err}
		}()
	}
	for host, n := range expect {
		start(sinks, host, "sink", "eth0", "--speed", "200M", "--expect", strconv.Itoa(n), "-j")
	}
	for _, f := range flows {
		kind := "3"
		if r.octets > 0 {
			kind = fmt.Sprintf("3:octets=%d", r.octets)
		}
		args := []string{"send", "eth0", "--speed", "200M", "--flow", kind, "--seconds", "1", "-j"}
		if f.mac != "" {
			args = append(args, "--to", f.mac)
		}
		start(senders, f.from, args...)
	}
	held := int64(0)
	for range flows {
		var report traffic.SendReport
		answer := <-senders
		must(r.t, answer.err)
		must(r.t, json.Unmarshal(answer.out, &report))
		held += report.Paused[3]
		for _, f := range report.Flows {
			assert.True(r.t, f.Answered && f.Sent != 0 && f.Lost+f.Reordered+f.Duplicated == 0, "%s: %+v",
				report.Source, f)
		}
	}
	for range expect {
		var report traffic.SinkReport
		answer := <-sinks
		must(r.t, answer.err)
		must(r.t, json.Unmarshal(answer.out, &report))
		for _, f := range report.Flows {
			assert.True(r.t, f.Finished && f.Received == f.Sent && f.Received != 0, "%s: %+v", report.Address, f)
			r.t.Logf("%s > %s: %d frames", f.Source, report.Address, f.Received)
		}
	}
	assert.True(r.t, held != 0, "no sender was held: the links were not full")
}

// checkLossless asks a switch whether it lost a lossless frame.
func (r *rig) checkLossless(n Node) {
	r.t.Helper()
	reply := assert.Got(api.NewClient(n.Socket).Show(r.t.Context(), "ports")).Must(r.t)
	assert.Equal(r.t, reply.(*api.Ports).LosslessDropsSinceStart, 0, "%s lost lossless frames", n.Name)
}

const pair = `name: x
switches: {s1: {preset: roce}}
hosts: {h1: {}, h2: {}}
links: {l1: {ends: [h1, "s1:p1"]}, l2: {ends: [h2, "s1:p2"]}}
`

// An impossible topology is refused with a message, and changes nothing.
func refusedTopologies(r *rig) {
	path, name := r.file(pair)
	r.runRefused("lab "+name+" is not up", "lab", "down", path)
	r.runRefused("lab "+name+" is not up: pfcswitch lab up FILE", "lab", "exec", path, "h1", "true")
	r.runRefused("no such file, and no lab of this name is up", "lab", "down", "no-such-lab")
	r.runRefused("no such file", "lab", "up", "no-such-lab.yaml")

	s := r.up(path, name)
	if got := r.run("lab", "ls"); !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` +up +3 +2 +` + path + `$`).
		MatchString(got) {
		r.t.Errorf("lab ls says %s", got)
	}
	r.runRefused("lab "+name+" is up already: pfcswitch lab down "+path, "lab", "up", path)
	r.runRefused("has no node h9: there are s1, h1, h2", "lab", "exec", path, "h9", "true")
	status := r.command("lab", "exec", name, "h1", "sh", "-c", "exit 7").Run()
	assert.True(r.t, fmt.Sprint(status) == "exit status 7", "the status of a program in a node: %v", status)
	assert.Contains(r.t, r.run("show", "ports", "-s", name+"-s1"), "p2", "a switch is not found by its name")
	must(r.t, os.WriteFile(path, []byte("name: "+name+"\nno_such_key: 1\n"), 0o644)) // edited meanwhile
	r.runRefused(path+":2: no_such_key: unknown key", "lab", "up", path)
	assert.Equal(r.t, r.state(name).Keeper, s.Keeper, "a refused command has changed the lab")
	r.run("lab", "down", path)
	r.runRefused("is not up", "lab", "down", path)
}

// After any process of a lab was killed, down leaves nothing and up works.
func killedKeeper(r *rig) {
	path, name := r.file(pair)
	r.up(path, name)
	kill := func(pid int) { must(r.t, syscall.Kill(pid, syscall.SIGKILL)) }
	kill(r.switchOf(name))
	r.run("lab", "down", path)
	r.checkNothingLeft(name)

	s := r.up(path, name)
	kill(s.Keeper)
	r.waitProcessesEnded(name)
	if got := r.run("lab", "ls"); !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` +killed `).MatchString(got) {
		r.t.Errorf("lab ls says %s", got)
	}
	r.runRefused("its keeper was killed", "lab", "exec", path, "h1", "true")
	assert.Contains(r.t, r.run("lab", "down", path), "its keeper was killed; what it left is gone", "down says")
	r.checkNothingLeft(name)

	s = r.up(path, name)
	kill(s.Keeper)
	r.waitProcessesEnded(name)
	s = r.up(path, name)
	must(r.t, syscall.Kill(s.Keeper, syscall.SIGTERM)) // told to end, it takes the lab with it
	r.waitProcessesEnded(name)
	r.checkNothingLeft(name)
}

// A keeper holds the lock of its lab for as long as it lives, however often its garbage is collected.
func collectedKeeper(r *rig) {
	r.env = append(r.env, "GOMEMLIMIT=1")
	path, name := r.file(pair)
	r.up(path, name)
	for range 50 {
		if lock, err := lab.LockFile(r.statePath(name)); !errors.Is(err, unix.EWOULDBLOCK) {
			r.t.Fatalf("the lock of a lab that is up: %v %v, want that its keeper has it", lock, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.run("lab", "down", path)
	r.checkNothingLeft(name)
}

// switchOf finds the process of a lab's only switch.
func (r *rig) switchOf(name string) int {
	r.t.Helper()
	lines := assert.Got(filepath.Glob("/proc/[0-9]*/cmdline")).Must(r.t)
	for _, path := range lines {
		b, _ := os.ReadFile(path)
		if words := strings.Split(string(b), "\x00"); len(words) > 3 && words[1] == "run" &&
			strings.Contains(words[3], name) {
			return assert.Got(strconv.Atoi(filepath.Base(filepath.Dir(path)))).Must(r.t)
		}
	}
	r.t.Fatalf("no switch of lab %s runs", name)
	return 0
}

// An up that is interrupted or killed leaves no half lab. What a killed one leaves, the next removes, unless it is
// interrupted before: so the killed ones come last.
func interruptedUp(r *rig) {
	path, name := r.file(pair)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, after := range []time.Duration{20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond} {
			up := r.command("lab", "up", path)
			must(r.t, up.Start())
			time.Sleep(after)
			_ = up.Process.Signal(sig) // it may be up by then
			if up.Wait() == nil || r.staysUp(name) {
				r.run("lab", "down", path)
			}
			r.waitProcessesEnded(name)
			if sig == syscall.SIGTERM {
				r.checkNothingLeft(name)
			}
		}
	}
	up := r.command("lab", "up", path)
	must(r.t, up.Start())
	eventually(r.t, "the keeper runs", func() bool { _, ok := readState(r.statePath(name)); return ok })
	_ = up.Process.Signal(syscall.SIGSTOP) // it may have ended, on a machine that is slow here
	assert.True(r.t, r.staysUp(name), "a lab did not come up whose up was stopped")
	_ = up.Process.Kill() // the keeper has answered
	_ = up.Wait()
	r.run("lab", "down", path)
	r.checkNothingLeft(name)
	r.up(path, name)
	r.run("lab", "down", path)
}

// staysUp waits until a lab whose up has ended early is up to stay, or is gone.
func (r *rig) staysUp(name string) (up bool) {
	r.t.Helper()
	eventually(r.t, "lab "+name+" is up, or its processes have ended", func() bool {
		s, ok := readState(r.statePath(name))
		up = ok && len(s.Nodes) > 0 && len(r.processes(name)) > 0
		return up || len(r.processes(name)) == 0
	})
	return up
}

// If one switch cannot run, the lab does not come up.
func failedUp(r *rig) {
	path, name := r.file(pair + "# \n")
	must(r.t, os.WriteFile(path, []byte(strings.Replace("name: "+name+"\n"+pair[8:], "switches: {",
		"switches: {s2: {api: {socket: /dev/null/x.sock}}, ", 1)), 0o644))
	r.runRefused("s2 does not run", "lab", "up", path)
	r.checkNothingLeft(name)
}

// An unprivilegedUser user has labs in a user namespace, where the system allows those.
func unprivilegedUser(r *rig) {
	if os.Getuid() == 0 && labtest.OneUser(r.t) {
		r.t.Log("the test itself is an ordinary user's, in a user namespace: what follows runs as that")
	} else {
		r.user = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	path, name := r.file(pair)
	if r.user != nil {
		dir := labtest.TempDir(r.t)
		must(r.t, os.Chown(dir, 65534, 65534))
		r.env = []string{"XDG_RUNTIME_DIR="}
		r.runRefused("XDG_RUNTIME_DIR is not set", "lab", "up", path)
		r.env = []string{"XDG_RUNTIME_DIR=" + dir}
	}
	s := r.up(path, name)
	assert.Contains(r.t, r.run("show", "ports", "-s", s.socket("s1")), "p2", "the switch says")
	assert.Contains(r.t, r.run("lab", "exec", path, "h1", r.program, "show", "ports", "-s", name+"-s1"), "p2",
		"in a node the switch says")
	r.runRefused("is up already", "lab", "up", path)
	r.run("lab", "down", path)
	r.checkNothingLeft(name)
	s = r.up(path, name)
	must(r.t, syscall.Kill(s.Keeper, syscall.SIGKILL))
	r.waitProcessesEnded(name)
	r.run("lab", "down", path)
	must(r.t, os.WriteFile(path, []byte("name: "+name+"\n"+pair[8:]+"traffic: {f: {from: h1, to: h2, rate: 10M, "+
		"duration: 200ms}}\n"), 0o644))
	assert.Contains(r.t, r.run("lab", "run", path), "PASS", "a run says")
}

// A host NIC has the host's address, and its own socket.
func hostNIC(r *rig) {
	path, name := r.file(`name: x
switches: {s1: {preset: roce}}
hosts: {h1: {nic: true, addresses: [10.0.0.1/24]}, h2: {addresses: [10.0.0.2/24], mac: "02:00:00:00:00:02"}}
links: {l1: {ends: [h1, "s1:p1"], speed: 100M, mtu: 4000}, l2: {ends: [h2, "s1:p2"], mtu: 4000}}
`)
	s := r.up(path, name)
	for node, want := range map[string]string{"h1": "10.0.0.1/24", "h2": "10.0.0.2/24"} {
		got := r.run("lab", "exec", path, node, "ip", "address")
		assert.True(r.t, strings.Contains(got, want) && strings.Contains(got, "mtu 4000"), "%s: %s", node, got)
	}
	assert.Contains(r.t, r.run("show", "ports", "-s", s.socket("h1")), "host0", "the host NIC says")
}

// A foreign switch keeps its socket, even if its name begins like those of the lab.
func foreignSocket(r *rig) {
	path, name := r.file(pair)
	socket := config.LabSocket(name, "eth1")
	l := assert.Got(api.Listen(socket, false)).Must(r.t)
	defer func() { _ = l.Close() }()
	alive := func(when string) {
		r.t.Helper()
		c, err := net.Dial("unix", socket)
		assert.MustNoError(r.t, err, "%s", when)
		_ = c.Close()
	}
	r.runRefused("is not up", "lab", "down", path)
	alive("down of a lab that is not up")
	r.up(path, name)
	alive("up")
	r.run("lab", "down", path)
	alive("down")
	s := r.up(path, name)
	must(r.t, syscall.Kill(s.Keeper, syscall.SIGKILL))
	r.run("lab", "down", path) // the switch may be dying still: its socket goes all the same
	alive("down of a lab that was killed")
	must(r.t, l.Close())
	r.checkNothingLeft(name)
}

// The keeper's log has the reason why a switch ended, and down prints the log.
func keeperLog(r *rig) {
	path, name := r.file(pair)
	log := r.statePath(name) + ".log"
	got := r.run("lab", "up", path)
	assert.True(r.t, strings.Contains(got, log), "up does not name %s:\n%s", log, got)
	assert.Equal(r.t, r.run("lab", "down", path), "lab "+name+" is down\n", "down says")
	r.up(path, name)
	must(r.t, syscall.Kill(r.switchOf(name), syscall.SIGKILL))
	eventually(r.t, "the keeper has seen it", func() bool {
		b := assert.Got(os.ReadFile(log)).Must(r.t)
		return strings.Contains(string(b), "s1 has ended")
	})
	got = r.run("lab", "down", path)
	assert.True(r.t, strings.Contains(got, "s1 has ended") && strings.Contains(got, "killed"), "down says %q", got)
}

// An up that is interrupted just when its keeper is ready takes the lab down, and says so. Up to then the state file
// does not name the killed keeper of an earlier lab, whose number another process may have.
func interruptedWhenReady(r *rig) {
	dir := r.t.TempDir()
	ready := filepath.Join(dir, "ready")
	r.t.Setenv(readyKeeperVariable, ready)
	path := filepath.Join(dir, "late.json")
	lock := assert.Got(lab.LockFile(path)).Must(r.t)
	defer func() { _ = lock.Close() }()
	must(r.t, (&State{Name: "late", Keeper: os.Getpid()}).write(lock))
	ctx, interrupt := context.WithCancel(r.t.Context())
	defer interrupt()
	go func() {
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(ready); err == nil {
				if s, ok := readState(path); ok {
					r.t.Errorf("while the lab is brought up its state is %+v", s)
				}
				interrupt()
			}
		}
	}()
	s, err := startKeeper(ctx, "late", path, lock, nil)
	assert.True(r.t, s == nil && err != nil && strings.Contains(err.Error(), "interrupted"),
		"state %+v, %v: want that it was interrupted", s, err)
	_, err = os.Stat(ready + ".ended")
	assert.NoError(r.t, err, "the keeper has not ended")
}
