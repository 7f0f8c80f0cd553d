// Package tcpdump compiles capture filters.
//
// The language of tcpdump has one complete implementation, libpcap, to which a static Go program cannot link. So the program
// tcpdump compiles where it is installed, on the side of the command and with the rights of its user: the switch gets classic
// BPF instructions alone, checks them, and runs them in a virtual machine. Where there is no tcpdump, the instructions
// themselves can be given, in the form that another machine's "tcpdump -ddd" prints.
package tcpdump

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"pfcswitch/dataplane/capture"
)

// ErrNoTcpdump is returned when an expression cannot be compiled because there is no tcpdump.
var ErrNoTcpdump = errors.New("there is no tcpdump here, which compiles filters: install it, or give the filter as instructions, which another machine's " +
	"\"tcpdump -ddd -y EN10MB EXPRESSION\" prints")

// patience is how long tcpdump may take. A name in an expression may make it ask a name server.
const patience = 30 * time.Second

// Compile returns the instructions of a filter: text itself where it is a list of them, else what tcpdump makes of it for
// Ethernet.
func Compile(ctx context.Context, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if isProgram(text) {
		_, err := capture.ParseFilter(text)
		return text, err
	}
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		return "", ErrNoTcpdump
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-ddd", "-y", "EN10MB", "--", text)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("filter %q: %s", text, lastLine(complaint.String(), err))
	}
	if _, err := capture.ParseFilter(out.String()); err != nil {
		return "", fmt.Errorf("what tcpdump made of the filter %q cannot be used: %w", text, err)
	}
	return strings.TrimSpace(out.String()), nil
}

// isProgram tells whether a filter is a list of instructions: an expression has other characters than digits.
func isProgram(text string) bool {
	return strings.Trim(text, "0123456789, \t\n") == "" && strings.ContainsAny(strings.TrimSpace(text), ", \t\n")
}

// lastLine is the last line of a complaint.
func lastLine(complaint string, err error) string {
	lines := strings.Split(strings.TrimSpace(complaint), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}
