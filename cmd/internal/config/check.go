package config

import (
	"fmt"
	"slices"

	"pfcswitch/dataplane"
)

// check finds faults across sections.
func (c *Config) check() []*Error {
	if n := len(c.Ports); n > dataplane.MaxPorts {
		return []*Error{c.Errorf("ports", "%d ports: a switch has at most %d, so remove some", n, dataplane.MaxPorts)}
	}
	faults := slices.Concat(c.checkInterfaces(), c.checkVLANs(), c.checkFDB(), c.checkWires(), c.checkTrunks())
	if c.Buffer.Policy == PolicyStatic {
		faults = append(faults, c.checkStatic()...)
	}
	return faults
}

// checkInterfaces refuses two ports on one interface: each would receive every frame.
func (c *Config) checkInterfaces() (faults []*Error) {
	type place struct{ netns, name string }
	taken := map[place]string{}
	for _, p := range c.Ports {
		at := place{p.Netns, p.Interface}
		if other, twice := taken[at]; twice {
			faults = append(faults, c.Errorf("ports."+p.Name+".interface",
				"%q is already port %s (line %d): give each port an interface of its own",
				p.Interface, other, c.source.line("ports."+other)))
			continue
		}
		taken[at] = p.Name
	}
	return faults
}

func (c *Config) checkVLANs() (faults []*Error) {
	for _, p := range c.Ports {
		if slices.Contains(p.Tagged, p.PVID) {
			faults = append(faults, c.Errorf("ports."+p.Name+".tagged",
				"VLAN %d is the port's PVID and leaves untagged: remove it here, or set another pvid", p.PVID))
		}
	}
	return faults
}

func (c *Config) checkFDB() (faults []*Error) {
	names := c.portNames()
	type address struct {
		mac  [6]byte
		vlan uint16
	}
	first := map[address]int{}
	for i, entry := range c.FDB {
		key := fmt.Sprintf("fdb[%d]", i)
		if entry.MAC == [6]byte{} {
			faults = append(faults, c.Errorf(key, "has no mac: write the station's address"))
			continue
		}
		if fault := c.checkEntryPort(key, entry, names); fault != nil {
			faults = append(faults, fault)
		}
		at := address{entry.MAC, entry.VLAN}
		if other, twice := first[at]; twice {
			faults = append(faults, c.Errorf(key, "repeats fdb[%d] (line %d), the same MAC and VLAN: keep one",
				other, c.source.line(fmt.Sprintf("fdb[%d]", other))))
			continue
		}
		first[at] = i
	}
	return faults
}

func (c *Config) checkEntryPort(key string, entry StaticEntry, names []string) *Error {
	if entry.Port == "" {
		return c.Errorf(key, "has no port: write the key of one under ports")
	}
	return c.checkPortName(key+".port", entry.Port, names)
}

// checkPortName refuses a name that no port has.
func (c *Config) checkPortName(key, name string, names []string) *Error {
	switch meant := nearest(name, names); {
	case slices.Contains(names, name):
		return nil
	case meant != "":
		return c.Errorf(key, "%q is no port: did you mean %s?", name, meant)
	default:
		return c.Errorf(key, "%q is no port: add it under ports, or write the key of another", name)
	}
}

func (c *Config) portNames() (names []string) {
	for _, p := range c.Ports {
		names = append(names, p.Name)
	}
	return names
}

// checkStatic requires a threshold for every lossless queue under the static policy.
func (c *Config) checkStatic() (faults []*Error) {
	for _, p := range c.Ports {
		for _, priority := range p.losslessPriorities(c) {
			own := p.Priorities[priority]
			xoff := pick(own.Xoff, pick(c.Buffer.Xoff, 0))
			xon := pick(own.Xon, pick(c.Buffer.Xon, 0))
			key := "ports." + p.Name + ".priorities." + p.priorityKey(priority)
			switch {
			case xoff == 0:
				return append(faults, c.Errorf("buffer.policy", "static needs a threshold, and priority %s of port %s has none: "+
					"write buffer.xoff, or %s.xoff", p.priorityKey(priority), p.Name, key))
			case xon > xoff:
				faults = append(faults, c.Errorf(key+".xon", "%s is above xoff %s, where the queue stops its peer: lower xon, or raise xoff",
					formatSize(xon), formatSize(xoff)))
			}
		}
	}
	return faults
}
