package topology

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// The switches of one process have links, counters, metrics and changes of their own, and leave nothing behind.
func inOneProcess(r *rig) {
	text := assert.Got(os.ReadFile("../../../scripts/lab/leaf-spine.yaml")).Must(r.t)
	path, name := r.file(string(text))
	r.run("lab", "up", "--in-process", path)
	s := r.state(name)
	must(r.t, s.AwaitPrograms(r.t.Context()))
	assert.Equal(r.t, len(r.processes(name)), 2, "processes, want the keeper and one more")
	const h1, h3 = "02:00:00:00:00:01", "02:00:00:00:00:03"
	r.checkTraffic(path, []flow{{"h1", "h3", h3}, {"h2", "h3", h3}, {"h4", "h1", h1}})
	for _, n := range s.Nodes {
		if n.Kind != "switch" {
			continue
		}
		r.checkLossless(n)
		want := fmt.Sprintf("switch=%q", n.Name)
		assert.True(r.t, strings.Contains(r.metrics(n), want), "the metrics of %s lack %s", n.Name, want)
		file := filepath.Join(configFolder(name), n.Name+".yaml")
		yaml := assert.Got(os.ReadFile(file)).Must(r.t)
		must(r.t, os.WriteFile(file, []byte(strings.Replace(string(yaml), "ageing: ", "ageing: 7", 1)), 0o600))
		assert.Contains(r.t, r.run("apply", "-s", n.Socket, file), "ageing", "%s: apply", n.Name)
		r.run("health", "-s", n.Socket)
	}
	r.run("lab", "down", path)
	r.checkNothingLeft(name)
}

// By default more than 8 switches are in one process, and 8 are not.
func oneProcessOfMany(r *rig) {
	ring := func(switches int) (path, name string) {
		return r.file(fmt.Sprintf("name: x\nfabric: {ring: {switches: %d, hosts: 1}, links: {speed: 10M}, "+
			"switches: {preset: roce}}\n", switches))
	}
	for switches, want := range map[int]int{8: 9, 9: 2} {
		path, name := ring(switches)
		s := r.up(path, name)
		if got := len(r.processes(name)); got != want || s.InProcess != (switches > 8) {
			r.t.Errorf("%d switches: %d processes, in_process %v; want %d", switches, got, s.InProcess, want)
		}
		r.run("lab", "down", path)
		r.checkNothingLeft(name)
	}
	path, name := ring(9)
	r.run("lab", "up", "--in-process=false", path)
	got := len(r.processes(name))
	assert.True(r.t, got == 10, "--in-process=false: %d processes, want 10", got)
	r.run("lab", "down", path)
}

// metrics returns what the metrics address in a node's namespace tells.
func (r *rig) metrics(n Node) (text string) {
	r.t.Helper()
	must(r.t, port.InNetns(n.Namespace, func() error {
		c, err := net.Dial("tcp", "127.0.0.1:9808")
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n"); err != nil {
			return err
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return err
		}
		b, err := io.ReadAll(answer.Body)
		text = string(b)
		return err
	}))
	return text
}

// A switch of a process that cannot start does not keep another one from running. A lab of which one cannot start does
// not come up, and says why.
func oneCannotStart(r *rig) {
	path, name := r.file("name: x\nfabric: {dumbbell: {hosts: 1}, links: {speed: 100M}, switches: {preset: roce}}\n")
	taken := config.LabSocket(name, "left")
	l := assert.Got(api.Listen(taken, false)).Must(r.t)
	defer func() { _ = l.Close() }()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	}()
	r.runRefused("left does not run: ", "lab", "up", "--in-process", path)

	args := []string{"run"}
	for _, node := range []string{"left", "right"} {
		file := filepath.Join(r.t.TempDir(), node+".yaml")
		must(r.t, os.WriteFile(file, fmt.Appendf(nil, "name: %s\npreset: roce\nmetrics: {listen: off}\n"+
			"api: {socket: %s}\nports: {none0: {}}\n", node, config.LabSocket(name, node)), 0o600))
		args = append(args, "-c", file)
	}
	cmd := r.command(args...)
	said := assert.Got(cmd.StdoutPipe()).Must(r.t)
	must(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill() // where the test ended early
		_ = cmd.Wait()
	})
	must(r.t, said.(*os.File).SetReadDeadline(time.Now().Add(time.Minute)))
	line := assert.Got(bufio.NewReader(said).ReadString('\n')).Must(r.t)
	assert.True(r.t, strings.HasPrefix(line, "left does not run: "), "said %q", line)
	right := api.NewClient(config.LabSocket(name, "right"))
	eventually(r.t, "the other switch answers", func() bool {
		_, err := right.Show(r.t.Context(), "ports")
		return err == nil
	})
	must(r.t, cmd.Process.Signal(syscall.SIGTERM))
	assert.True(r.t, cmd.Wait() != nil, "no error at the end, though a switch did not run")
	must(r.t, l.Close())
}

// A switch of a process serves while others still start.
func servedWhileOthersStart(r *rig) {
	dir := r.t.TempDir()
	never, security := filepath.Join(dir, "certificate"), filepath.Join(dir, "web.yaml")
	must(r.t, unix.Mkfifo(never, 0o600)) // whoever reads it waits for a writer
	must(r.t, os.WriteFile(security, fmt.Appendf(nil, "tls_server_config: {cert_file: %s, key_file: none}\n", never),
		0o600))
	args := []string{"run"}
	for _, node := range []struct{ name, metrics string }{{"first", "listen: off"},
		{"second", "listen: 127.0.0.1:9808, web_config: " + security}} {
		file := filepath.Join(dir, node.name+".yaml")
		must(r.t, os.WriteFile(file, fmt.Appendf(nil, "name: %s\npreset: roce\nmetrics: {%s}\napi: {socket: %s}\n"+
			"ports: {none0: {}}\n", node.name, node.metrics, filepath.Join(dir, node.name)), 0o600))
		args = append(args, "-c", file)
	}
	cmd := r.command(args...)
	must(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill() // where the test ended early
		_ = cmd.Wait()
	})
	first := api.NewClient(filepath.Join(dir, "first"))
	answers := func() bool {
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		_, err := first.Show(ctx, "ports")
		return err == nil
	}
	eventually(r.t, "the first switch answers", answers)
	var writer int
	eventually(r.t, "the second one starts", func() (starts bool) {
		var err error
		writer, err = unix.Open(never, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil
	})
	must(r.t, unix.Close(writer)) // an empty certificate
	eventually(r.t, "the first one goes on without the second", answers)
	must(r.t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err == nil {
		r.t.Error("no error at the end, though a switch did not run")
	}
}
