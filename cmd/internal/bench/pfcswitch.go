package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What all switches are asked to carry: frames tagged with this VLAN to host 2.
const vlan = 10

var sink = mac(2)

// startPFC starts pfcswitch in the network with the configuration in text, whose name and socket it sets, and more flags, and waits
// until all ports are up.
func (n *network) startPFC(text string, flags ...string) error {
	n.socket = filepath.Join(n.b.work, n.name+".sock")
	file := filepath.Join(n.b.work, n.name+".yaml")
	text = fmt.Sprintf("name: %s\napi: {socket: %s}\n%s", n.name, n.socket, text)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if _, err := n.daemon(append([]string{n.b.program, "run", "-c", file}, flags...)...); err != nil {
		return err
	}
	return n.b.eventually("pfcswitch brings its ports up", patience, func() (bool, error) {
		if err := n.alive(); err != nil {
			return true, err
		}
		return n.portsUp()
	})
}

func (n *network) portsUp() (bool, error) {
	var p struct{ Ports []struct{ Up bool } }
	if _, err := os.Stat(n.socket); err != nil {
		return false, err
	}
	if err := n.show(&p, "ports"); err != nil {
		return false, err
	}
	for _, port := range p.Ports {
		if !port.Up {
			return false, nil
		}
	}
	return len(p.Ports) > 0, nil
}

// show reads what pfcswitch answers to show.
func (n *network) show(into any, noun string) error {
	out, err := n.b.do(n.sw.namespace, n.b.program, "show", noun, "-s", n.socket, "-j")
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}

// benchYAML is the configuration of the comparisons.
func benchYAML() (string, error) {
	text, err := unnamed("scripts/bench.yaml")
	return text + staticEntries(2, 4), err
}

// unnamed is what a configuration file says, but for its name.
func unnamed(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(b), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "name:") {
			lines = append(lines[:i], lines[i+1:]...)
			break
		}
	}
	return strings.Join(lines, "\n"), nil
}

// staticEntries binds hosts to the ports of the same number.
func staticEntries(hosts ...int) string {
	var all []string
	for _, h := range hosts {
		all = append(all, fmt.Sprintf("{mac: \"%s\", vlan: %d, port: p%d}", mac(h), vlan, h))
	}
	return "\nfdb: [" + strings.Join(all, ", ") + "]\n"
}

// forwards waits until a switch carries frames from host 1 to host 2.
func (n *network) forwards() error {
	return n.b.eventually(n.name+" forwards from h1 to h2", 10*time.Second, func() (bool, error) {
		if err := n.alive(); err != nil {
			return true, err
		}
		before, err := n.hosts[1].received("eth0")
		if err != nil {
			return true, err
		}
		const frames = 20
		if _, err := n.b.do(n.hosts[0].namespace, n.b.program, "send", "eth0", "--no-sink", "--to", sink, "--vlan", fmt.Sprint(vlan),
			"--flow-control", "off", "--flow", "3:octets=60", "--count", fmt.Sprint(frames), "--speed", "1M"); err != nil {
			return true, err
		}
		if err := n.b.sleep(10 * time.Millisecond); err != nil {
			return true, err
		}
		after, err := n.hosts[1].received("eth0")
		return after.frames >= before.frames+frames, err
	})
}
