package packaging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const root = "../../.." // of the project

// build makes the program once, by the command of the Dockerfile.
var build = sync.OnceValues(func() (string, error) {
	dir, err := labtest.Folder()
	if err != nil {
		return "", err
	}
	command, err := runCommand("build", "go build")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "pfcswitch"), inBuildStage(command, dir)
})

// inBuildStage runs a command of the Dockerfile's build stage on this machine, with dir for its /out.
func inBuildStage(command, dir string) error {
	cmd := exec.Command("/bin/sh", "-ec", strings.ReplaceAll(command, "/out", dir))
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

func program(t testing.TB) string {
	t.Helper()
	return assert.Got(build()).Must(t)
}

var must, eventually = assert.Must, labtest.Eventually

// write writes a file that others may read.
func write(t testing.TB, path, text string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func runCommand(stage, text string) (string, error) {
	for _, i := range dockerfile() {
		if i.stage == stage && i.op == "RUN" && strings.Contains(i.args, text) {
			return i.args, nil
		}
	}
	return "", fmt.Errorf("the Dockerfile has no command with %s", text)
}

func run(t testing.TB, at *lab.Node, env []string, args ...string) *lab.Process {
	t.Helper()
	p, err := at.Start(lab.Command{Name: "switch", Argv: append([]string{program(t)}, args...), Env: env})
	must(t, err)
	return p
}

// stop ends a program, which has to end well.
func stop(t testing.TB, p *lab.Process) {
	t.Helper()
	must(t, p.Stop(unix.SIGTERM, 5*time.Second))
}

func cable(t testing.TB, l *lab.Lab, a *lab.Node, ifA string, b *lab.Node, ifB string) {
	t.Helper()
	must(t, l.Link(a, ifA, b, ifB, lab.LinkOptions{}))
}

// healthy tells what the health command says.
func healthy(t testing.TB, socket string) (string, bool) {
	t.Helper()
	out, err := exec.Command(program(t), "health", "-s", socket).CombinedOutput()
	return string(out), err == nil
}

// waitFor waits until a switch is healthy, and has its programs in the kernel.
func waitFor(t testing.TB, p *lab.Process, socket string) {
	t.Helper()
	waitUntil(t, p, func() bool {
		if _, ok := healthy(t, socket); !ok {
			return false
		}
		r, err := api.NewClient(socket).Show(t.Context(), "ports")
		return err == nil && !r.(*api.Ports).Starting()
	})
}

// waitUntil waits until a switch is healthy by the word of a function.
func waitUntil(t testing.TB, p *lab.Process, healthy func() bool) {
	t.Helper()
	eventually(t, "the switch is healthy", func() bool {
		select {
		case <-p.Ended():
			t.Fatalf("the switch has ended: %v", p.Wait())
		default:
		}
		return healthy()
	})
}

// checkTraffic sends from each host to the sink, and wants every frame of priority 3.
func checkTraffic(t testing.TB, to *lab.Node, name string, seconds float64, from map[*lab.Node]string) (held int64) {
	t.Helper()
	sink := assert.Got(to.Start(lab.Command{Argv: []string{program(t), "sink", name, "--speed", "200M", "--expect",
		fmt.Sprint(len(from)), "-j"}})).Must(t)
	var senders []*lab.Process
	var reports []*bytes.Buffer // without what a sender says where the sink has not started yet
	for node, wire := range from {
		report := new(bytes.Buffer)
		p := assert.Got(node.Start(lab.Command{Argv: []string{program(t), "send", wire, "--speed", "200M", "--flow",
			"3:octets=1400", "--seconds", fmt.Sprint(seconds), "-j"}, Stdout: report})).Must(t)
		senders, reports = append(senders, p), append(reports, report)
	}
	for _, p := range append(senders, sink) {
		select {
		case <-p.Ended():
			must(t, p.Wait())
		case <-time.After(30 * time.Second):
			t.Fatalf("a sender or the sink does not end: %s", p.Output())
		}
	}
	for _, report := range reports {
		var r traffic.SendReport
		must(t, json.Unmarshal(report.Bytes(), &r))
		held += r.Paused[3]
		assert.True(t, len(r.Flows) == 1 && r.Flows[0].Answered && r.Flows[0].Sent != 0 &&
			r.Flows[0].Lost+r.Flows[0].Reordered == 0, "%s: %+v", r.Source, r.Flows)
		t.Logf("%s: %d frames, held for %.0f ms", r.Source, r.Frames, float64(r.Paused[3])/1e6)
	}
	return held
}
