package doctor

import (
	"fmt"
	"strings"

	"pfcswitch/dataplane/port"
)

// in makes a command that runs where an interface is.
func in(netns, command string) string {
	if netns == "" {
		return command
	}
	if strings.ContainsAny(command, "&|;>") {
		command = "sh -c " + quote(command)
	}
	return "nsenter --net=" + quote(port.NetnsPath(netns)) + " " + command
}

// at is a command about an interface, whose name stands in it as %s.
func at(s *port.Survey, format string, args ...any) string {
	return in(s.Netns, fmt.Sprintf(format, append([]any{quote(s.Name)}, args...)...))
}

// quote makes a word for the shell of a text.
func quote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@", r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// edit is a command that changes a running switch: show config writes every key of a port on a line of its own. port is "" for
// what concerns the whole switch. It is "" where no switch runs, or there is nothing to change.
func (f *Facts) edit(port string, lines ...string) string {
	if f.Socket == "" || len(lines) == 0 {
		return ""
	}
	var script []string
	for _, line := range lines {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		change := fmt.Sprintf("s|^%s%s: .*|%s|", indent, key, line)
		if port != "" {
			change = fmt.Sprintf("/^  %s:$/,/^  [^ ]/%s", port, change)
		}
		script = append(script, change)
	}
	return fmt.Sprintf("pfcswitch show config -s %[1]s | sed %[2]s | pfcswitch apply /dev/stdin -s %[1]s", quote(f.Socket), quote(strings.Join(script, ";")))
}
