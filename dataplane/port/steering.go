package port

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// readSteering returns the receive queues of an interface of the thread's namespace whose frames the kernel hands to other CPUs
// (RPS), by name. /sys shows the interfaces of the namespace that it was mounted in, so that a view of this one is opened; where
// that is not allowed nothing is known.
func readSteering(name string) (queues []string) {
	fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fs) }()
	if unix.FsconfigCreate(fs) != nil {
		return nil
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(mount) }()
	folder := filepath.Join("class/net", name, "queues")
	fd, err := unix.Openat(mount, folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), folder)
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, queue := range names {
		if strings.HasPrefix(queue, "rx-") && steered(fd, queue) {
			queues = append(queues, queue)
		}
	}
	sort.Strings(queues)
	return queues
}

// steered tells whether a queue's mask of CPUs has any.
func steered(folder int, queue string) bool {
	fd, err := unix.Openat(folder, filepath.Join(queue, "rps_cpus"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var b [1024]byte
	n, err := unix.Read(fd, b[:])
	return err == nil && strings.Trim(string(b[:n]), "0,\n") != ""
}
