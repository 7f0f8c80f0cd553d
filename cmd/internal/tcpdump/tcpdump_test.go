package tcpdump

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
)

const ipv4 = "4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0"

func compile(t *testing.T, text string) string {
	t.Helper()
	return assert.Got(Compile(context.Background(), text)).Must(t)
}

// frame is an untagged frame of an EtherType.
func frame(etherType uint16) []byte {
	return append(make([]byte, 12), byte(etherType>>8), byte(etherType), 0x45, 0, 0, 0)
}

// Instructions need no tcpdump.
func TestInstructions(t *testing.T) {
	t.Setenv("PATH", "")
	for _, text := range []string{"", ipv4, strings.ReplaceAll(ipv4, ",", "\n")} {
		got := compile(t, text)
		assert.True(t, got == text, "%q became %q", text, got)
	}
	_, err := Compile(context.Background(), "2,6 0 0 0")
	assert.True(t, err != nil, "half a program is accepted")
	_, err = Compile(context.Background(), "ip")
	assert.True(t, errors.Is(err, ErrNoTcpdump), "without tcpdump: %v", err)
}

// Expressions are compiled by tcpdump.
func TestExpressions(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		assert.MustBeTrue(t, os.Getenv("CI") != "true", "CI installs tcpdump, but: %v", err)
		t.Skip("NOT TESTED that expressions are compiled: there is no tcpdump (scripts/test.sh tools installs it " +
			"as root)")
	}
	f := assert.Got(capture.ParseFilter(compile(t, "ether proto 0x8808 or ip"))).Must(t)
	for etherType, want := range map[uint16]bool{0x8808: true, 0x0800: true, 0x86dd: false} {
		assert.Equal(t, f.Keep(frame(etherType), 18) > 0, want, "EtherType %#x is kept", etherType)
	}
	for _, text := range []string{"no such word", "-w /tmp/x", "ip and", "0x8808"} {
		_, err := Compile(context.Background(), text)
		assert.Fails(t, err, "filter \""+text, "%q", text)
	}
}
