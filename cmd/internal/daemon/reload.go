package daemon

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
)

// notifyHangups returns a channel of SIGHUP, which keeps the signal from ending the process.
func notifyHangups() chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// followHangups puts a configuration file in force at each SIGHUP until ctx ends. On an error the configuration of
// before stays. The log and the events say what came of it, since a signal cannot.
func (d *Daemon) followHangups(ctx context.Context, hangups chan os.Signal, file string) {
	d.background.Go(func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				d.reload(ctx, file)
			}
		}
	})
}

func (d *Daemon) reload(ctx context.Context, file string) {
	yaml, err := os.ReadFile(file)
	applied := new(api.Applied)
	if err == nil {
		applied, err = source{d.runner, d}.Apply(ctx, file, yaml, false)
	}
	if err != nil {
		d.log.Error("SIGHUP: the configuration of before stays", "error", err)
		d.addEvent(dataplane.EventConfig, "", fmt.Sprintf("SIGHUP: the configuration of before stays: %v", err))
		return
	}
	for _, w := range applied.Warnings {
		d.log.Warn(w)
	}
	d.log.Info("SIGHUP: the file is in force", "file", file)
}
