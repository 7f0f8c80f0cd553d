package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// peers are paths of the programs that are compared with; "" where one is missing.
type peers struct {
	ovs     string // ovs-vswitchd
	iperf3  string
	ethtool string
}

// findPeers looks for the peers, and installs missing ones where that is allowed. A smoke run installs nothing.
func (b *bench) findPeers() (p peers) {
	p.look()
	if missing := p.packages(); len(missing) > 0 && !b.opt.smoke && os.Getenv("INSTALL") != "0" {
		fmt.Fprintln(b.out, "installing", strings.Join(missing, " "))
		b.install(missing)
		p.look()
	}
	if p.ovs == "" {
		b.note("OPEN VSWITCH IS MISSING: it is left out (Debian: apt-get install openvswitch-switch)")
	}
	if p.iperf3 == "" {
		b.note("IPERF3 IS MISSING: TCP is left out (Debian: apt-get install iperf3)")
	}
	return p
}

func (p *peers) look() {
	p.ovs, p.iperf3, p.ethtool = found("ovs-vswitchd"), found("iperf3"), found("ethtool")
}

// found returns a program's path, "" where it is missing.
func found(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// packages returns Debian's names of what is missing.
func (p *peers) packages() (all []string) {
	for _, m := range []struct{ path, name string }{
		{p.ovs, "openvswitch-switch"}, {p.iperf3, "iperf3"}, {p.ethtool, "ethtool"},
	} {
		if m.path == "" {
			all = append(all, m.name)
		}
	}
	return all
}

// install reports an error and goes on: findPeers notes what is missing afterwards.
func (b *bench) install(packages []string) {
	if err := withoutServices(policyFile, func() error { return b.aptGet(packages) }); err != nil {
		fmt.Fprintln(b.out, "cannot install:", err)
	}
}

// policyFile is the program that Debian asks whether it may start a service; 101 says no.
const policyFile = "/usr/sbin/policy-rc.d"

// withoutServices runs f while Debian starts no daemon that it installs: a daemon would take part in what is measured.
// A policy that is there already stays.
func withoutServices(policy string, f func() error) error {
	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return f()
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("#!/bin/sh\nexit 101\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = f()
	}
	return errors.Join(err, os.Remove(policy))
}

func (b *bench) aptGet(packages []string) error {
	quiet := []string{"DEBIAN_FRONTEND=noninteractive"}
	if _, err := b.local(10*patience, quiet, "apt-get", "-q", "update"); err != nil {
		return err
	}
	install := append([]string{"apt-get", "-qy", "install", "--no-install-recommends"}, packages...)
	_, err := b.local(10*patience, quiet, install...)
	return err
}
