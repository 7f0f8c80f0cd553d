package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/privilege"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// ReportRefused reports what the system has refused and what follows from it. The switch goes on without it.
func (d *Daemon) ReportRefused(effect string, err error) {
	d.log.Warn(effect, "error", err)
	d.addEvent(dataplane.EventConfig, "", err.Error())
}

// confine gives up the rights of this process that its running switches do not need, and returns what they need. Only a
// process of which a switch has ports in other network namespaces keeps the right to enter them, so Apply refuses the
// first such port of another one.
func confine(switches []*Daemon) (needs privilege.Needs) {
	for _, d := range switches {
		d.mu.Lock()
		needs.Namespaces = needs.Namespaces || slices.ContainsFunc(d.cfg.Ports, inNamespace)
		needs.ForeignFiles = needs.ForeignFiles || d.usesForeignFiles()
		d.mu.Unlock()
	}
	err := privilege.Confine(needs)
	for _, d := range switches {
		if err != nil {
			d.ReportRefused("the switch has more rights than it needs", err)
		}
		d.confined(needs)
	}
	return needs
}

// confined tells a switch what its process may still do.
func (d *Daemon) confined(needs privilege.Needs) {
	d.mu.Lock()
	d.noNamespaces = !needs.Namespaces
	d.mu.Unlock()
	d.runner.Urgent()
}

// usesForeignFiles tells whether the running switch writes into a folder of another user, or reads certificates, whose
// owners are not known here.
func (d *Daemon) usesForeignFiles() bool {
	var folder unix.Stat_t
	foreign := unix.Stat(d.cfg.Capture.Directory, &folder) == nil && int(folder.Uid) != os.Geteuid()
	return d.cfg.Metrics.WebConfig != "" || d.cfg.Capture.Ring && foreign
}

func inNamespace(p config.Port) bool { return p.Netns != "" }

// SetNice gives every thread of this process a nice value, -20 (most of the CPU) to 19; 0 changes nothing. Then no
// program of a host keeps the switch from forwarding, as none keeps the kernel's own bridge. All threads need the
// value, because a worker may wait for a thread that holds its lock. New threads inherit the value.
func SetNice(nice int) error {
	for changed := nice != 0; changed; {
		changed = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, entry := range threads {
			thread, err := strconv.Atoi(entry.Name())
			if err != nil {
				return err
			}
			different, err := setNiceOf(thread, nice)
			if err != nil {
				return fmt.Errorf("nice %d: %w (allow it: CAP_SYS_NICE, or a limit on nice values as of LimitNICE=; "+
					"or do without: nice: 0)", nice, err)
			}
			changed = changed || different
		}
	}
	return nil
}

// setNiceOf changes one thread, unless it has ended, and tells whether its value was different.
func setNiceOf(thread, nice int) (different bool, err error) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, thread) // 20 less it
	if different = err == nil && 20-raw != nice; different {
		err = unix.Setpriority(unix.PRIO_PROCESS, thread, nice)
	}
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	return different, err
}

// What MeasureMachine costs: about 0.3 s.
const (
	wakeSamples = 1000
	wakeSleep   = 200 * time.Microsecond
)

// MeasureMachine finds how late wake-ups are on this machine now: the 99.9 % value, and the worst of a short run.
func MeasureMachine() config.Machine {
	w, err := port.NewPoller()
	if err != nil {
		return config.Machine{}
	}
	defer func() { _ = w.Close() }()
	late := make([]time.Duration, wakeSamples)
	for i := range late {
		from := time.Now()
		w.Wait(wakeSleep)
		late[i] = time.Since(from) - wakeSleep
	}
	slices.Sort(late)
	return config.Machine{WakeGap: late[len(late)-1], WakeDelay: late[len(late)*999/1000]}
}

// notify tells systemd a state of the process. Without systemd it does nothing.
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

// runNotify tells systemd that the switches are ready: the configurations are in force and existing interfaces are
// ports. Then it feeds systemd's watchdog while switches run of which every worker makes progress.
func (h *host) runNotify(ctx context.Context) {
	log := h.guests[0].Log // it speaks for the process
	notify(log, daemon.SdNotifyReady)
	defer notify(log, daemon.SdNotifyStopping)
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not fed", "error", err)
	}
	if every == 0 {
		<-ctx.Done()
		return
	}
	look := time.NewTicker(every / 3)
	defer look.Stop()
	for {
		bounded, cancel := context.WithTimeout(ctx, every/3)
		h.running.Lock()
		hung, err := firstHung(bounded, h.running.all)
		some := len(h.running.all) > 0 // else the only one starts again
		h.running.Unlock()
		cancel()
		if err == nil && some {
			notify(log, daemon.SdNotifyWatchdog)
		} else if err != nil && ctx.Err() == nil {
			hung.log.Error("the switch hangs, and systemd's watchdog is not fed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// firstHung returns a switch of which a worker has not done a round when ctx ends.
func firstHung(ctx context.Context, switches []*Daemon) (*Daemon, error) {
	for _, d := range switches {
		if err := d.runner.Alive(ctx); err != nil {
			return d, err
		}
	}
	return nil, nil
}
