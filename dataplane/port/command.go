package port

import "strings"

// CommandIn makes a command for a person's shell that runs in namespace ns, which is as InNetns takes it.
func CommandIn(ns, command string) string {
	if ns == "" {
		return command
	}
	if strings.ContainsAny(command, "&|;>") {
		command = "sh -c " + ShellWord(command)
	}
	return "nsenter --net=" + ShellWord(NetnsPath(ns)) + " " + command
}

// ShellWord makes a word for the shell of a text.
func ShellWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@", r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
