package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// What a host sends arrives at its port, from the address that the other hosts know; nothing is left of a closed
// network.
func TestNetwork(t *testing.T) {
	labtest.Require(t)
	b := &bench{ctx: t.Context(), work: t.TempDir()}
	n := assert.Got(b.newNetwork("some-name", dutPFC, 2)).Must(t)
	defer func() { assert.Must(t, n.close()) }()
	if got, err := n.hosts[1].MAC("eth0"); err != nil || got.String() != mac(2) {
		t.Errorf("address of host 2: %v, %v, want %s", got, err, mac(2))
	}
	link, err := n.newTap(n.sw, "p3")
	assert.Must(t, err)
	assert.Must(t, link.write(stationFrame(hostMAC(1), hostMAC(3))))
	if got, err := n.sw.Stats("p3"); err != nil || got.ReceivedFrames != 1 || got.ReceivedBytes != 60 {
		t.Errorf("one frame came by the TAP, counted: %+v, %v", got, err)
	}
	assert.Must(t, n.sw.DeleteLink("p3")) // though the TAP is open
	path := n.sw.Path()
	assert.Must(t, n.close())
	_, err = os.Stat(path)
	assert.True(t, err != nil, "%s is left behind", path)
}

// An error beside true ends the wait at once; one beside false is that of the end.
func TestEventually(t *testing.T) {
	b := &bench{ctx: t.Context()}
	broken := errors.New("broken")
	for _, tt := range []struct {
		ready bool
		err   error
		says  string
	}{{true, nil, ""}, {true, broken, "broken"}, {false, broken, "it: not within 20ms\nbroken"}} {
		err := b.eventually("it", 20*time.Millisecond, func() (bool, error) { return tt.ready, tt.err })
		got := fmt.Sprint(err)
		assert.True(t, got == tt.says || (err == nil && tt.says == ""), "%+v: %v", tt, err)
	}
}

// A program that has ended though it should be at work is told of, with what it said; one that works is not.
func TestAlive(t *testing.T) {
	labtest.Require(t)
	b := &bench{ctx: t.Context(), work: t.TempDir()}
	n := assert.Got(b.newNetwork("alive", dutPFC, 0)).Must(t)
	defer func() { assert.Must(t, n.close()) }()
	ended := assert.Got(n.daemon(lab.Command{Argv: []string{"sh", "-c", "echo no such address >&2; exit 3"}})).Must(t)
	atWork := assert.Got(b.start(n.sw, "sleep", "60")).Must(t)
	<-ended.Ended()
	assert.Fails(t, n.alive(), "no such address", "it ended")
	n.daemons = []*program{atWork}
	used, err := n.usageOf(func() error { return b.sleep(10 * time.Millisecond) })
	assert.True(t, err == nil && used.took >= 10*time.Millisecond && used.process >= 0 && used.process <= used.took,
		"a program that sleeps used %+v, %v", used, err)
	rss, _, err := resident(n.daemons)
	assert.True(t, err == nil && rss > 0, "its memory: %v, %v", rss, err)
	assert.NoError(t, atWork.alive(), "it is at work")
	out, err := b.do(n.sw, "echo", "said")
	assert.True(t, err == nil && out == "said\n", "%q, %v", out, err)
}

// A job that should be at work has failed when it ends, whatever its status; what it printed is there nevertheless.
func TestJob(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	atWork := startJob(ctx, "sleep", "60")
	assert.True(t, !atWork.hasEnded() && atWork.failed() == nil, "at work: %v", atWork.failed())
	for script, says := range map[string]string{"echo said": "ended by itself",
		"echo said; echo why >&2; false": "why"} {
		j := startJob(ctx, "sh", "-c", script)
		<-j.ended
		assert.Fails(t, j.failed(), says, "%s", script)
		assert.Equal(t, string(j.out), "said\n", "%s: output", script)
	}
	cancel()
	<-atWork.ended
	assert.True(t, atWork.failed() != nil, "it was ended")
}
