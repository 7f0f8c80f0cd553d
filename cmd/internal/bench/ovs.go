package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/lab"
)

// startOVS starts Open vSwitch with its userspace datapath. tso asks for userspace TSO; where the build has none,
// startOVS returns errNoTSO.
func (n *network) startOVS(tso bool) error {
	dir, err := os.MkdirTemp(n.b.work, n.name+"-")
	if err != nil {
		return err
	}
	o := &ovs{network: n, dir: dir, db: "unix:" + filepath.Join(dir, "db.sock")}
	if err := o.database(tso); err != nil {
		return err
	}
	log := filepath.Join(dir, "vswitchd.log")
	_, err = o.daemon(n.b.peers.ovs, o.db, "--unixctl="+filepath.Join(dir, "vswitchd.ctl"), "--log-file="+log,
		"-vconsole:warn")
	if err != nil {
		return err
	}
	if err := o.ports(); err != nil {
		return errors.Join(err, n.alive())
	}
	if !tso {
		return nil
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	return hasTSO(string(text))
}

var errNoTSO = errors.New("this build of Open vSwitch has no userspace TSO")

// hasTSO reads from the log whether userspace TSO is on, or why not.
func hasTSO(log string) error {
	line := regexp.MustCompile("Userspace TCP Segmentation Offloading.*").FindString(log)
	switch {
	case strings.Contains(line, "support enabled"):
		return nil
	case line == "":
		line = "its log has no line about it"
	}
	return fmt.Errorf("%w: %s", errNoTSO, line)
}

type ovs struct {
	*network
	dir, db string
}

// daemon runs a program of Open vSwitch with the nice value that its start script gives it (ovs-ctl
// --ovs-vswitchd-priority, --ovsdb-server-priority), as pfcswitch has it by default.
func (o *ovs) daemon(argv ...string) (*program, error) {
	return o.network.daemon(lab.Command{
		Name: filepath.Base(argv[0]), Argv: append([]string{"nice", "-n", "-10"}, argv...), Env: o.folders(),
	})
}

// folders are the run's own instead of the system's.
func (o *ovs) folders() []string {
	return []string{"OVS_RUNDIR=" + o.dir, "OVS_LOGDIR=" + o.dir, "OVS_DBDIR=" + o.dir}
}

// configure runs a program that configures Open vSwitch.
func (o *ovs) configure(argv ...string) error {
	p, err := o.b.startWith(o.sw, lab.Command{Argv: argv, Env: o.folders()})
	if err != nil {
		return err
	}
	_, err = o.b.wait(p, patience)
	return err
}

// vsctl changes the configuration database.
func (o *ovs) vsctl(argv ...string) error {
	return o.configure(append([]string{"ovs-vsctl", "--db=" + o.db}, argv...)...)
}

// schemas are the places of the database's schema.
var schemas = []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}

// database starts the configuration database, with what vswitchd reads only when it starts.
func (o *ovs) database(tso bool) error {
	conf := filepath.Join(o.dir, "conf.db")
	schema := slices.IndexFunc(schemas, func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	})
	if err := o.configure("ovsdb-tool", "create", conf, schemas[max(0, schema)]); err != nil {
		return err
	}
	_, err := o.daemon("ovsdb-server", conf, "--remote=p"+o.db, "--unixctl="+filepath.Join(o.dir, "db.ctl"),
		"-vconsole:warn")
	if err != nil {
		return err
	}
	if err := o.b.eventually("ovsdb-server", patience, func() (bool, error) {
		_, err := os.Stat(filepath.Join(o.dir, "db.sock"))
		return err == nil, o.alive()
	}); err != nil {
		return err
	}
	if err := o.vsctl("--no-wait", "init"); err != nil || !tso {
		return err
	}
	return o.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true")
}

// ports makes the bridge and binds the hosts that receive to their ports.
func (o *ovs) ports() error {
	add := []string{"--timeout=20", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev"}
	for i := range o.hosts {
		p := fmt.Sprintf("p%d", i+1)
		add = append(add, "--", "add-port", "br0", p,
			"--", "set", "interface", p, fmt.Sprintf("ofport_request=%d", i+1))
	}
	if err := o.vsctl(add...); err != nil {
		return err
	}
	for i := 1; i < len(o.hosts); i += 2 {
		rule := fmt.Sprintf("dl_dst=%s,actions=output:%d", mac(i+1), i+1)
		if err := o.configure("ovs-ofctl", "add-flow", filepath.Join(o.dir, "br0.mgmt"), rule); err != nil {
			return err
		}
	}
	return nil
}
