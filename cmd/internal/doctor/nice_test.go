package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// What a process may have is read from files as the kernel writes them. A capability counts in the initial user
// namespace alone, a limit everywhere.
func TestReadNice(t *testing.T) {
	const (
		all     = 1<<41 - 1
		without = all &^ (1 << 23)
		inner   = "user:[4026532001]"
	)
	for _, test := range []struct {
		what         string
		nice, limit  string
		capabilities uint64
		userns       string
		status       string
		want         Nice
	}{
		{"all rights", "0", "0", all, initialUserns, "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\n",
			Nice{Current: 0, Lowest: -20, Grantable: true}},
		{"none", "0", "0", without, initialUserns, "CapBnd:\t000001ffff7fffff\nNoNewPrivs:\t0\n",
			Nice{Current: 0, Lowest: 0}},
		{"a file may have it", "3", "0", 0, initialUserns, "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\n",
			Nice{Current: 3, Lowest: 3, Grantable: true}},
		{"no new ones", "0", "0", 0, initialUserns, "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\n", Nice{}},
		{"a user namespace", "0", "0", all, inner, "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\n", Nice{}},
		{"a limit in it", "0", "30", all, inner, "CapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\n",
			Nice{Current: 0, Lowest: -10}},
		{"no limit", "0", "unlimited", 0, "", "", Nice{Current: 0, Lowest: -20}},
		{"what it has", "-10", "0", 0, initialUserns, "", Nice{Current: -10, Lowest: -10}},
	} {
		dir := t.TempDir()
		stat := "7 (a) b) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 " + test.nice + " 9 0 100 0 0\n"
		limits := "Limit                     Soft Limit           Hard Limit           Units     \n" +
			"Max nice priority         " + test.limit + strings.Repeat(" ", 21-len(test.limit)) +
			"40                   \n"
		must(t, errors.Join(os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600),
			os.WriteFile(filepath.Join(dir, "limits"), []byte(limits), 0o600)))
		if test.userns != "" {
			must(t, errors.Join(os.Mkdir(filepath.Join(dir, "ns"), 0o700),
				os.Symlink(test.userns, filepath.Join(dir, "ns/user"))))
		}
		got, err := readNice(dir, test.status, test.capabilities)
		assert.True(t, err == nil && got == test.want, "%s: %+v, %v; want %+v", test.what, got, err, test.want)
	}
	for what, stat := range map[string]string{"nothing": "", "short": "7 (a) S 1",
		"no number": "7 (a) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 x 9"} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600))
		got, err := readNice(dir, "", 0)
		assert.True(t, err != nil, "%s: %+v", what, got)
	}
}

// The remedy names the limits of a unit and of a container that allow the nice value.
func TestNiceRemedy(t *testing.T) {
	const want = "nice: 0, which does without; or allow it by CAP_SYS_NICE or a limit (LimitNICE=-10 of a unit, " +
		"--ulimit nice=30 of a container)"
	for running, want := range map[string]string{"": want, "s1": want + ", and start the switch anew"} {
		f := healthy(t)
		f.Switch, f.Process.Nice = running, Nice{}
		got := find(Judge(f), "nice")
		assert.True(t, got != nil && got.Command == nil && got.Key != nil && *got.Key == want, "%q: %+v", running, got)
	}
}
