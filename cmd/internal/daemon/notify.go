package daemon

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notify tells systemd a state of the switch. Without systemd it does nothing.
func (d *Daemon) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		d.log.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

// notifyReload reports the start of a configuration change; done reports its end.
func (d *Daemon) notifyReload() (done func()) {
	d.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
	return func() { d.notify(daemon.SdNotifyReady) }
}

// runNotify tells systemd that the switch is ready: the configuration is in force and existing interfaces are ports.
// Then it feeds systemd's watchdog while every worker makes progress.
func (d *Daemon) runNotify(ctx context.Context) {
	defer d.background.Done()
	d.notify(daemon.SdNotifyReady)
	defer d.notify(daemon.SdNotifyStopping)
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		d.log.Warn("systemd's watchdog is not fed", "error", err)
	}
	if every == 0 {
		<-ctx.Done()
		return
	}
	look := time.NewTicker(every / 3)
	defer look.Stop()
	for {
		if err := d.alive(ctx, every/3); err == nil {
			d.notify(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			d.log.Error("the switch hangs, and systemd's watchdog is not fed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// alive waits until every worker has done a round.
func (d *Daemon) alive(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.runner.Alive(ctx)
}
