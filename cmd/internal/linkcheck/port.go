package linkcheck

import (
	"context"
	"fmt"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// OfPort fills in the interface of a port of a running switch and the format of its measurement frames.
func (o *Options) OfPort(ctx context.Context, socket, name string) error {
	client := api.NewClient(socket)
	r, err := client.Show(ctx, "ports")
	if err != nil {
		return err
	}
	var known []string
	var found *api.Port
	ports := r.(*api.Ports).Ports
	for i := range ports {
		known = append(known, ports[i].Port)
		if ports[i].Port == name {
			found = &ports[i]
		}
	}
	switch {
	case found == nil:
		return &api.NoPortError{Name: name, Existing: known}
	case found.Kind == string(config.KindTAP):
		return fmt.Errorf("port %s leads to this host's own stack: name the port of its wire", name)
	}
	o.Interface = found.Interface
	if o.Netns, err = NetnsOf(ctx, client, found.Netns); err != nil {
		return err
	}
	c, err := ConfigOf(ctx, client)
	if err != nil {
		return err
	}
	o.Format = c.Headroom.Format()
	return nil
}

// ConfigOf returns the configuration in force of a running switch.
func ConfigOf(ctx context.Context, client *api.Client) (*config.Config, error) {
	r, err := client.Show(ctx, "config")
	if err != nil {
		return nil, err
	}
	c, _, err := config.Parse("show config", []byte(r.(*api.Config).YAML))
	return c, err
}

// NetnsOf returns the name of a port's namespace for this process: "" is its own.
func NetnsOf(ctx context.Context, client *api.Client, netns *string) (string, error) {
	if netns != nil {
		return *netns, nil
	}
	pid, err := client.PID(ctx)
	if err != nil {
		return "", err
	}
	theirs := fmt.Sprintf("pid:%d", pid)
	its, err := port.IdentifyNetns(theirs)
	if err != nil {
		return "", nil // another user's process, which is in the namespace that this process was started in
	}
	own, err := port.IdentifyNetns("")
	if err != nil || own == its {
		return "", err
	}
	return theirs, nil
}
