package doctor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
)

// Nice is the nice value of a process and its limits.
type Nice struct {
	Current   int
	Lowest    int  // allowed by CAP_SYS_NICE or by RLIMIT_NICE
	Grantable bool // CAP_SYS_NICE in the file of the program would have effect
}

// initialUserns is the user namespace whose capabilities count for nice values: PROC_USER_INIT_INO of the kernel.
const initialUserns = "user:[4026531837]"

// readNice reads it from a process's folder below /proc, whose status and capabilities were read before.
func readNice(dir, status string, capabilities uint64) (n Nice, err error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return n, err
	}
	// from the third on (proc_pid_stat(5))
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 17 {
		return n, fmt.Errorf("%s/stat names no nice value", dir)
	}
	if n.Current, err = strconv.Atoi(fields[16]); err != nil {
		return n, fmt.Errorf("%s/stat: nice value: %w", dir, err)
	}
	limits, err := os.ReadFile(filepath.Join(dir, "limits"))
	if err != nil {
		return n, err
	}
	n.Lowest = min(n.Current, max(-20, 20-niceLimit(string(limits))))
	userns, err := os.Readlink(filepath.Join(dir, "ns/user"))
	initial := err != nil || userns == initialUserns // another user's process hides it
	if initial && capabilities>>unix.CAP_SYS_NICE&1 != 0 {
		n.Lowest = -20
	}
	bounds, _ := strconv.ParseUint(fieldOf(status, "CapBnd:"), 16, 64)
	n.Grantable = initial && bounds>>unix.CAP_SYS_NICE&1 != 0 && fieldOf(status, "NoNewPrivs:") != "1"
	return n, nil
}

// niceLimit is RLIMIT_NICE: 20 minus the lowest nice value; 0 where limits has no line of it.
func niceLimit(limits string) int {
	soft, _, _ := strings.Cut(fieldOf(limits, "Max nice priority"), " ")
	if soft == "unlimited" {
		return math.MaxInt32
	}
	n, _ := strconv.Atoi(soft)
	return n
}

// fieldOf is the rest of the line that begins with begin.
func fieldOf(text, begin string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, begin); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// judgeNice finds a nice value that the kernel refuses. The switch runs without it.
func (f *Facts) judgeNice() []api.Finding {
	p := f.Process
	if p == nil || f.Config == nil {
		return nil
	}
	want := f.Config.Nice
	if want == 0 || p.Nice.Current <= want || f.Switch == "" && p.Nice.Lowest <= want {
		return nil
	}
	finding := api.Finding{Trap: "nice", Severity: api.SeverityWarning,
		Effect: "other programs of this machine may keep the switch waiting, which they cannot do to the kernel's " +
			"own bridge: frames stand in its rings and queues meanwhile",
		Seen: fmt.Sprintf("%s has nice %d and may go down to %d; the configuration wants %d", p.What, p.Nice.Current,
			p.Nice.Lowest, want)}
	if p.Nice.Lowest <= want {
		finding.Seen += ": a switch that starts anew has it"
		return []api.Finding{finding}
	}
	key := fmt.Sprintf("nice: 0, which does without; or allow it by CAP_SYS_NICE or a limit (LimitNICE=%+d of a "+
		"unit, --ulimit nice=%d of a container)", want, 20-want)
	if f.Switch != "" {
		key += ", and start the switch anew"
	}
	finding.Key = &key
	if p.Nice.Grantable {
		finding.Command = optional(p.setcapCommand(append(p.neededCapabilities(), "cap_sys_nice")))
	}
	return []api.Finding{finding}
}
