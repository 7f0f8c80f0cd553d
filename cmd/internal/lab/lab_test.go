package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestForbiddenNamesSettingAndRemedy(t *testing.T) {
	for _, test := range []struct {
		name    string
		sysctls map[string]string
		sysctl  string
		says    []string
	}{
		{
			"Debian", map[string]string{"kernel.unprivileged_userns_clone": "0", "user.max_user_namespaces": "96365"},
			"kernel.unprivileged_userns_clone",
			[]string{"operation not permitted", "kernel.unprivileged_userns_clone is 0",
				"sysctl -w kernel.unprivileged_userns_clone=1"},
		},
		{
			"Ubuntu", map[string]string{"kernel.unprivileged_userns_clone": "1",
				"kernel.apparmor_restrict_unprivileged_userns": "1"},
			"kernel.apparmor_restrict_unprivileged_userns",
			[]string{"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		},
		{
			"hardened", map[string]string{"user.max_user_namespaces": "0"},
			"user.max_user_namespaces", []string{"sysctl -w user.max_user_namespaces=1000"},
		},
		{"container", map[string]string{}, "", []string{"seccomp", "CAP_SYS_ADMIN", "run as root"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var err error = forbidden("make it", unix.EPERM, func(name string) string { return test.sysctls[name] })
			var e *ForbiddenError
			assert.MustBeTrue(t, errors.As(err, &e) && errors.Is(err, unix.EPERM),
				"got %T, want a *ForbiddenError around EPERM", err)
			assert.True(t, e.Sysctl == test.sysctl && e.Value == test.sysctls[test.sysctl], "got %s = %s, want %s = %s",
				e.Sysctl, e.Value, test.sysctl, test.sysctls[test.sysctl])
			for _, s := range append(test.says, "make it") {
				assert.True(t, strings.Contains(err.Error(), s), "%q does not say %q", err, s)
			}
		})
	}
}

func TestReadSysctl(t *testing.T) {
	assert.Equal(t, readSysctl("kernel.ostype"), "Linux", "kernel.ostype, want Linux")
	assert.Equal(t, readSysctl("kernel.no_such_setting"), "", "a setting that does not exist")
}

func TestLabNamespace(t *testing.T) {
	for namespace, want := range map[string]string{
		"pfcsw-12-demo-h1": "12-demo", "pfcsw-12-demo-leaf-1": "12-demo", "pfcsw-12-demo": "", "pfcsw-x12-demo-h1": "",
		"pfcsw--demo-h1": "", "pfcsw-12--h1": "", "other-12-demo-h1": "",
	} {
		key := ""
		if m := labNamespace.FindStringSubmatch(namespace); m != nil {
			key = m[1]
		}
		assert.Equal(t, key, want, "%q: got lab", namespace)
	}
}

func newTestRegistry(t *testing.T, namespaces ...string) registry {
	t.Helper()
	dir := t.TempDir()
	p := registry{namespaces: filepath.Join(dir, "netns"), locks: filepath.Join(dir, "labs")}
	assert.Must(t, os.MkdirAll(p.namespaces, 0o755))
	for _, name := range namespaces {
		assert.Must(t, os.WriteFile(filepath.Join(p.namespaces, name), nil, 0o444))
	}
	return p
}

// The process number in a lab's name does not count: the lock decides.
func TestSweepSparesLockedLabsOnly(t *testing.T) {
	if ok, err := capable(); !ok {
		t.Skip("needs the right to unmount", err)
	}
	p := newTestRegistry(t, "pfcsw-1-dead-a", "pfcsw-1-dead-b", "pfcsw-1-living-a", "pfcsw-strange", "others")
	living := assert.Got(p.lock("1-living")).Must(t)
	for _, leftover := range []string{"1-dead", "2-without-namespaces"} {
		f := assert.Got(p.lock(leftover)).Must(t)
		f.Close() // as the kernel does when the process dies
	}
	assert.Must(t, p.sweep())
	assertNames(t, p.namespaces, "others", "pfcsw-1-living-a", "pfcsw-strange")
	assertNames(t, p.locks, "1-living.lock")

	assert.Must(t, p.unlock(living))
	assert.Must(t, p.sweep())
	assertNames(t, p.namespaces, "others", "pfcsw-1-living-a", "pfcsw-strange") // its lock may be elsewhere
	assertNames(t, p.locks)
}

func TestSweepOfNothing(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, (registry{namespaces: dir + "/none", locks: dir + "/none"}).sweep(), "where no lab ever was")
}

func assertNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := assert.Got(os.ReadDir(dir)).Must(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	assert.True(t, strings.Join(got, " ") == strings.Join(want, " "), "%s: got %v, want %v", filepath.Base(dir), got,
		want)
}

func TestLockIsExclusive(t *testing.T) {
	p := newTestRegistry(t)
	f, err := p.lock("1-x")
	assert.Must(t, err)
	if _, err := p.lock("1-x"); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("second lock: got %v, want EWOULDBLOCK", err)
	}
	assert.Must(t, p.unlock(f))
	f, err = p.lock("1-x")
	assert.MustNoError(t, err, "after unlock")
	// A lock on a file that was removed meanwhile is none.
	assert.Must(t, os.Remove(f.Name()))
	assert.True(t, !sameFile(f, f.Name()), "a removed file passes for the one at its path")
}

// A new lab gets its lock, though others sweep all the time.
func TestClaimBesideSweeps(t *testing.T) {
	p := newTestRegistry(t)
	var over atomic.Bool
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for !over.Load() {
				err := p.sweep()
				assert.True(t, err == nil, "%v", err)
			}
		})
	}
	for range 300 {
		f, err := p.claim("1-x")
		if err != nil {
			t.Error(err)
			break
		}
		err = p.unlock(f)
		assert.True(t, err == nil, "%v", err)
	}
	over.Store(true)
	sweeps.Wait()
	assertNames(t, p.locks)
}

func TestTailKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out outputTail
		var all []byte
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			b := []byte(strings.Repeat(string(rapid.ByteRange('a', 'z').Draw(t, "byte")),
				rapid.IntRange(0, 50_000).Draw(t, "size")))
			n, err := out.Write(b)
			assert.MustBeTrue(t, n == len(b) && err == nil, "Write: got %d, %v, want %d", n, err, len(b))
			all = append(all, b...)
		}
		if want := string(all[max(0, len(all)-tailBytes):]); out.String() != want {
			t.Fatalf("after %d bytes: kept %d, want the last %d", len(all), len(out.String()), len(want))
		}
	})
}

func TestParseSchedstat(t *testing.T) {
	got, err := parseSchedstat("3000000 2000 17\n")
	want := threadTime{3 * time.Millisecond, 2 * time.Microsecond}
	assert.True(t, err == nil && got == want, "got %v, %v, want %v", got, err, want)
	for _, bad := range []string{"", "1 2", "-1 2 3", "a b c"} {
		if _, err := parseSchedstat(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

// However threads come and go, what the schedule adds up is what they ran while it looked.
func TestScheduleAddsUpThreads(t *testing.T) {
	var s runQueueStats
	for _, step := range []struct {
		name string
		now  map[int]threadTime
		want threadTime
	}{
		{"two threads", map[int]threadTime{1: {10, 1}, 2: {20, 2}}, threadTime{30, 3}},
		{"one went on", map[int]threadTime{1: {15, 1}, 2: {20, 2}}, threadTime{35, 3}},
		{"one ended, one came", map[int]threadTime{1: {15, 1}, 3: {7, 7}}, threadTime{42, 10}},
		{"a new thread with an old number", map[int]threadTime{1: {15, 1}, 3: {2, 1}}, threadTime{44, 11}},
		{"unreadable", nil, threadTime{44, 11}},
	} {
		s.add(step.now)
		assert.Equal(t, s.sum, step.want, "%s", step.name)
	}
}

// Whoever asks whether a lock is taken keeps nobody from it.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	_, err := Locked(path)
	assert.True(t, errors.Is(err, os.ErrNotExist), "no file: %v", err)
	assert.Must(t, os.WriteFile(path, nil, 0o600))
	var other sync.WaitGroup
	t.Cleanup(other.Wait) // it makes the folder where there is none
	other.Go(func() {
		for t.Context().Err() == nil {
			_, _ = Locked(path)
		}
	})
	for range 1000 {
		lock := assert.Got(LockFile(path)).Must(t)
		if locked, err := Locked(path); !locked || err != nil {
			t.Fatalf("with the lock taken: %v, %v", locked, err)
		}
		assert.Must(t, lock.Close())
		if locked, err := Locked(path); locked || err != nil {
			t.Fatalf("with the lock free: %v, %v", locked, err)
		}
	}
}

// The time in which a process waits for a CPU is not part of its grace time, up to a limit.
func TestGraceLeft(t *testing.T) {
	const s = time.Second
	for _, test := range []struct{ passed, waited, want time.Duration }{
		{0, 0, 5 * s},
		{5 * s, 0, 0}, // it hangs
		{5 * s, 4 * s, 4 * s},
		{9 * s, 4 * s, 0},
		{49 * s, 400 * s, s}, // ten threads that wait, or run for ever
		{50 * s, 400 * s, 0},
	} {
		assert.Equal(t, graceLeft(5*s, test.passed, test.waited), test.want, "after %v, of which %v without a CPU",
			test.passed, test.waited)
	}
}
