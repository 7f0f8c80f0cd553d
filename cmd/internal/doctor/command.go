package doctor

import (
	"fmt"
	"strings"

	"pfcswitch/dataplane/port"
)

// in makes a command that runs where an interface is, quote a word for the shell of a text.
var commandIn, shellWord = port.CommandIn, port.ShellWord

// interfaceCommand is a command about an interface, whose name stands in it as %s.
func interfaceCommand(s *port.Survey, format string, args ...any) string {
	return commandIn(s.Netns, fmt.Sprintf(format, append([]any{shellWord(s.Name)}, args...)...))
}

// applyCommand is a command that changes a running switch: show config writes every key of a port on a line of its own. port is "" for
// what concerns the whole switch. It is "" where no switch runs, or there is nothing to change.
func (f *Facts) applyCommand(port string, lines ...string) string {
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
	return fmt.Sprintf("pfcswitch show config -s %[1]s | sed %[2]s | pfcswitch apply /dev/stdin -s %[1]s", shellWord(f.Socket), shellWord(strings.Join(script, ";")))
}
