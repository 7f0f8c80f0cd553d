package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
)

// vlan is the tag of the frames that all switches are asked to carry to host 2.
const vlan = 10

var sink = mac(2)

// startPFC starts pfcswitch in the network with the configuration in text, whose name and socket it sets, and
// waits until all ports are up, with their programs in the kernel.
func (n *network) startPFC(text string) error {
	n.socket = filepath.Join(n.b.work, n.name+".sock")
	file := filepath.Join(n.b.work, n.name+".yaml")
	text = fmt.Sprintf("name: %s\napi: {socket: %s}\n%s", n.name, n.socket, text)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if _, err := n.daemon(lab.Command{Argv: []string{n.b.program, "run", "-c", file}}); err != nil {
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
	r, err := show[*api.Ports](n, "ports")
	if err != nil {
		return false, err
	}
	down := slices.ContainsFunc(r.Ports, func(p api.Port) bool { return !p.Up })
	return len(r.Ports) > 0 && !down && !r.Starting(), nil
}

// show returns pfcswitch's answer to a noun.
func show[R api.Reply](n *network, noun string) (R, error) { return ask[R](n.b.ctx, n.socket, noun) }

// ask returns the answer of a switch to a noun.
func ask[R api.Reply](ctx context.Context, socket, noun string) (answer R, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := api.NewClient(socket).Show(ctx, noun)
	if err != nil {
		return answer, err
	}
	return r.(R), nil
}

// benchYAML is the configuration of the comparisons.
func benchYAML() (string, error) {
	text, err := withoutName("scripts/bench.yaml")
	return text + staticEntries(2, 4), err
}

// withoutName is what a configuration file says, but for its name.
func withoutName(file string) (string, error) {
	b, err := os.ReadFile(file)
	return string(nameLine.ReplaceAll(b, nil)), err
}

var nameLine = regexp.MustCompile(`(?m)^name:.*\n`)

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
		before, err := n.received()
		if err != nil {
			return true, err
		}
		const frames = 20
		p, err := n.b.startSender(n.hosts[0], sink, "3:octets=60", time.Minute, "--no-sink", "--flow-control", "off",
			"--count", fmt.Sprint(frames), "--speed", "1M")
		if err == nil {
			_, err = n.b.wait(p, patience)
		}
		if err != nil {
			return true, err
		}
		if err := n.b.sleep(10 * time.Millisecond); err != nil {
			return true, err
		}
		after, err := n.received()
		return after >= before+frames, err
	})
}
