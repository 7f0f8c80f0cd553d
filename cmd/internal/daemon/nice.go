package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
)

// ReportNiceFailure reports that SetNice has failed. The switch goes on without it.
func (d *Daemon) ReportNiceFailure(err error) {
	d.log.Warn("other programs of this machine may keep the switch waiting", "error", err)
	d.addEvent(dataplane.EventConfig, "", err.Error())
}

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
				return fmt.Errorf("nice %d: %w (allow it: CAP_SYS_NICE, or a limit on nice values as of LimitNICE=; or do without: nice: 0)", nice, err)
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
