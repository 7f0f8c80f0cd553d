package labexport

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"pfcswitch/cmd/internal/config"
)

// Image is the image of the containers: that of the Dockerfile's target lab, which has a shell and ip.
const Image = "pfcswitch:lab"

// A container finds its configuration in this folder, under this name.
const (
	configFolder = "/etc/pfcswitch"
	configName   = "switch.yaml"
)

// An export is a lab on its way to the files of an engine.
type export struct {
	topology   *config.Topology
	engine     string // as messages call it
	interfaces map[config.LabEnd]string
	files      map[string][]byte
	missing    []error
}

// Write writes a lab, or a part of it, for the engine clab or kne into a folder, and returns the paths. What the engine
// has no counterpart for is in missing: it is not in the files. An error means that nothing was written, or not all.
func Write(t *config.Topology, engine, folder string) (paths []string, missing []error, err error) {
	x := &export{topology: t, interfaces: map[config.LabEnd]string{}, files: map[string][]byte{}}
	x.nameInterfaces()
	switch engine {
	case "clab":
		x.engine = "containerlab"
		x.clab()
	case "kne":
		x.engine = "KNE"
		if err := x.kne(); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, fmt.Errorf("lab export: there is no engine %q: write clab or kne", engine)
	}
	x.addMissing()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		path := filepath.Join(folder, name)
		if err := writeNew(path, x.files[name]); err != nil {
			return nil, nil, err
		}
		paths = append(paths, path)
	}
	return paths, x.missing, nil
}

// writeNew writes a file that is not there yet: never one of the user's own.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: exists: remove it, or name another folder with -o", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// nameInterfaces gives the interfaces of each node the names eth1, eth2, … in the order of the links: in a container
// eth0 is that of the engine, and KNE takes no other names. Ports keep the names that they have in the file.
func (x *export) nameInterfaces() {
	numbers := map[string]int{}
	add := func(end config.LabEnd) {
		numbers[end.Node]++
		x.interfaces[end] = fmt.Sprintf("eth%d", numbers[end.Node])
	}
	for i := range x.topology.Links {
		for _, end := range x.topology.Links[i].Ends {
			add(end)
		}
	}
	for i := range x.topology.Tunnels {
		add(x.topology.Tunnels[i].End)
	}
}

// addConfig adds the file with the configuration of a switch or host NIC.
func (x *export) addConfig(node string, c *config.Config) (file string) {
	own := *c
	own.Ports = slices.Clone(c.Ports)
	for i := range own.Ports {
		p := &own.Ports[i]
		if name, linked := x.interfaces[config.LabEnd{Node: node, Interface: p.Interface}]; linked {
			p.Interface = name
		}
	}
	if c.API.Socket == config.LabSocket(x.topology.Name, node) { // each container has its own /run
		own.API = config.API{Socket: "/run/pfcswitch/" + c.Name + ".sock", Auto: true}
	}
	if web := c.Metrics.WebConfig; web != "" {
		x.miss(x.topology.InSwitch(node, c.Errorf("metrics.web_config", "%s is not in the container: add it", web)))
	}
	file = node + ".yaml"
	x.files[file] = config.Expand(&own)
	return file
}

// firstInterface is the one that has a host's address, if a link leads to it.
func (x *export) firstInterface(host string) (name string, linked bool) {
	name, linked = x.interfaces[config.LabEnd{Node: host, Interface: "eth0"}]
	return name, linked
}

func (x *export) miss(err error) { x.missing = append(x.missing, err) }

// addMissing lists the sections that no engine has.
func (x *export) addMissing() {
	t := x.topology
	for _, entry := range t.Traffic {
		x.miss(t.Errorf("traffic."+entry.Name, "%s sends nothing: use pfcswitch send and sink in its containers",
			x.engine))
	}
	for _, f := range t.Faults {
		x.miss(t.Errorf("faults."+f.Name, "%s has no faults: they are for pfcswitch sim", x.engine))
	}
	if err := t.RefuseHalfDuplex(); err != nil {
		x.miss(err)
	}
}
