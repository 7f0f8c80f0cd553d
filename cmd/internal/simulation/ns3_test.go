package simulation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// A drop-tail dumbbell receives and drops as many frames as that of ns-3, to 2 %. Where ns-3 is installed it runs, else
// its figures are those of Debian's 3.37.
func TestDumbbellAgreesWithNS3(t *testing.T) {
	r := assert.Got(Run(t.Context(), "../../../scripts/ns3/dumbbell.yaml", standard)).Must(t)
	var received, dropped uint64
	for _, f := range r.Flows {
		received, dropped = received+f.Received, dropped+f.Lost
	}
	wantReceived, wantDropped := uint64(32524), uint64(6386)
	if out, ok := ns3(t, "dumbbell", "3", "40000000", "100000000", "100", "4"); ok {
		_, err := fmt.Sscanf(out, "sent %d received %d dropped %d", new(uint64), &wantReceived,
			&wantDropped)
		assert.MustNoError(t, err, "%q", out)
	}
	near := func(got, want uint64) bool { return got*100 >= want*98 && got*100 <= want*102 }
	t.Logf("received %d, dropped %d; ns-3: %d and %d", received, dropped, wantReceived, wantDropped)
	assert.True(t, near(received, wantReceived) && near(dropped, wantDropped) && wantDropped != 0 && r.Pass,
		"received %d, dropped %d, want %d and %d", received, dropped, wantReceived, wantDropped)
}

// ns3 runs the program of scripts/ns3, if what it needs is here, as scripts/ns3/compare.sh has it.
func ns3(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	modules := []string{"ns3-applications", "ns3-internet", "ns3-point-to-point", "ns3-network", "ns3-core"}
	flags, err := exec.CommandContext(t.Context(), "pkg-config", append([]string{"--cflags", "--libs"},
		modules...)...).Output()
	if err == nil {
		_, err = exec.LookPath("g++")
	}
	if err == nil {
		_, err = os.Stat("/usr/include/gsl/gsl_version.h")
	}
	if err != nil {
		t.Logf("ns-3 is not here (%v)", err)
		return "", false
	}
	program := filepath.Join(t.TempDir(), "fabric")
	build := exec.CommandContext(t.Context(), "g++", append([]string{"-O1", "-std=c++17", "-o", program,
		"../../../scripts/ns3/fabric.cc"}, strings.Fields(string(flags))...)...)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text := assert.Got(exec.CommandContext(t.Context(), program, args...).Output()).Must(t)
	return string(text), true
}
