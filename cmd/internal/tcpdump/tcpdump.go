// Package tcpdump compiles capture filters.
//
// The language of tcpdump has one complete implementation, libpcap, to which a static Go program cannot link. So the
// program tcpdump compiles the filter, with the rights of the command's user. The switch gets only classic BPF
// instructions, checks them, and runs them in a virtual machine. Without tcpdump, a user can give the instructions that
// "tcpdump -ddd" prints on another machine.
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
var ErrNoTcpdump = errors.New("there is no tcpdump here, which compiles filters: install it, or give the filter as " +
	"instructions, which another machine's " +
	"\"tcpdump -ddd -y EN10MB EXPRESSION\" prints")

// patience is the time limit of tcpdump, which may ask a name server for a name in an expression.
const patience = 30 * time.Second

// Compile returns the instructions of a filter: text itself where text is a list of instructions, else the output of
// tcpdump for Ethernet.
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

func lastLine(complaint string, err error) string {
	lines := strings.Split(strings.TrimSpace(complaint), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}
