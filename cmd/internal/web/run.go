package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"pfcswitch/cmd/internal/api"
)

// Options configure a page that runs as its own program.
type Options struct {
	Listen    string   // host:port
	Reachable bool     // other machines reach Listen
	Security  string   // a file of Prometheus' exporter-toolkit; empty: plain HTTP for everybody
	Hosts     []string // as Config.Hosts
	Switches  []string // addresses, see At; none: the control sockets of the switches that run here now
	Log       *slog.Logger
}

// Run serves a page of several switches until ctx ends.
func Run(ctx context.Context, o Options) error {
	if err := CheckSecurity(o.Security); err != nil {
		return err
	}
	security, err := ReadSecurity(o.Security)
	if err != nil {
		return err
	}
	if o.Reachable && !security.Authenticates {
		o.Log.Warn("whoever reaches this address reads the state of the switches: ask for passwords with --web-config",
			"listen", o.Listen)
	}
	switches, err := find(o.Switches)
	if err != nil {
		return err
	}
	poller := NewPoller(switches)
	defer poller.Close()
	h := Handler(Config{Poller: poller, Listen: o.Listen, Hosts: o.Hosts})
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("%w: take another address with --listen", err)
	}
	for _, s := range switches {
		o.Log.Info("switch", "label", s.Label)
	}
	o.Log.Info("page", "url", fmt.Sprintf("%s://%s/", security.Scheme(), l.Addr()), "security", o.Security)
	s := NewServer(h, o.Log)
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := Serve(s, l, o.Security, o.Log); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// find returns the switches at addresses, each with a unique label.
func find(addresses []string) (switches []Switch, err error) {
	if len(addresses) == 0 {
		if addresses = api.Running(); len(addresses) == 0 {
			return nil, fmt.Errorf("%w: start one with \"pfcswitch run\", or name switches with --switch",
				api.ErrNoSwitch)
		}
	}
	labels := map[string]bool{}
	for _, a := range addresses {
		s, err := SwitchAt(a)
		if err != nil {
			return nil, err
		}
		if labels[s.Label] {
			s.Label = a
		}
		if labels[s.Label] {
			return nil, fmt.Errorf("--switch %s stands twice: name each switch once", a)
		}
		labels[s.Label] = true
		if info, err := os.Stat(a); strings.Contains(a, "/") && err == nil && info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("--switch %s: is a file, not a socket: name the control socket of a switch", a)
		}
		switches = append(switches, s)
	}
	return switches, nil
}
