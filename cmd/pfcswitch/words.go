package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groups are the headings of the help, and the commands below each.
var groups = []struct {
	title    string
	commands []string
}{
	{"The switch:", []string{"run", "check", "apply", "schema", "import", "nic", "health"}},
	{"What it does:", []string{"show", "top", "events", "web", "clear"}},
	{"When something is wrong:", []string{"doctor", "linkcheck", "explain", "capture"}},
	{"Demos, labs, traffic:", []string{"demo", "lab", "sim", "send", "sink"}},
	{"This program:", []string{"version", "help", "completion"}},
}

// speakPlainly puts the commands below headings, and replaces the parser's own words.
func speakPlainly(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
	last := groups[len(groups)-1].title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate.Replace(root.UsageTemplate()))
}

// addOwn adds the commands that the parser brings, help and completion. What they print goes where root prints now.
func addOwn(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short, c.Long = "what a command does, and its flags", "Prints what the command prints with --help."
		case "completion":
			c.Short = "print the script with which a shell completes commands, ports and switches"
			c.Long = "The help of each shell's command says where its script belongs."
			for _, shell := range c.Commands() {
				shell.Short = "print the script for " + shell.Name()
			}
		}
	}
}

func init() { cobra.AddTemplateFunc("flagUsages", flagUsages) }

var usageTemplate = strings.NewReplacer(".LocalFlags.FlagUsages", "flagUsages .LocalFlags",
	".InheritedFlags.FlagUsages", "flagUsages .InheritedFlags")

// flagUsages describes flags in the words of this program: what a value is, and its default.
func flagUsages(flags *pflag.FlagSet) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		head := "      --" + f.Name
		if f.Shorthand != "" {
			head = "  -" + f.Shorthand + ", --" + f.Name
		}
		value, text := described(f)
		if value != "" {
			head += " " + value
		}
		fmt.Fprintf(w, "%s\t%s\n", head, text)
	})
	_ = w.Flush() // a strings.Builder takes all
	return b.String()
}

// described returns what the value of a flag is, and the flag's text with its default.
func described(f *pflag.Flag) (value, text string) {
	value, text = valueOf(f)
	if optional := value != "" && f.NoOptDefVal != ""; optional {
		return value + "[=" + f.NoOptDefVal + "]", text
	}
	given := strings.Trim(f.DefValue, "[]")
	if !slices.Contains(nothing, given) && !strings.Contains(text, "(default") {
		text += " (default: " + given + ")"
	}
	return value, text
}

// nothing are default values that stand for none.
var nothing = []string{"", "0", "false", "0s", "-1", "-1ns"}

// valueOf returns what the value of a flag is, "" where it has none, and the flag's text.
func valueOf(f *pflag.Flag) (value, text string) {
	value, text = pflag.UnquoteUsage(f)
	if value == "" || strings.Contains(f.Usage, "`") {
		return value, text
	}
	for _, known := range values {
		if slices.Contains(strings.Fields(known.flags), f.Name) {
			return known.value, text
		}
	}
	switch value {
	case "string":
		return "text", text
	case "duration":
		return "time", text
	}
	return "number", text
}

// values are what flags have as values whose texts do not name them.
var values = []struct{ value, flags string }{
	{"file", "config hex report svg web-config write"},
	{"folder", "output"},
	{"path", "pcap"},
	{"interface", "interface tap wire"},
	{"port", "in"},
	{"address", "dst listen metrics src to"},
	{"namespace", "netns"},
	{"name", "name part socket"},
	{"word", "cc flow-control log"},
	{"rate", "speed"},
	{"priority", "storm"},
	{"expression", "filter"},
	{"number", "nice"},
}

// wants is what to write as the value of a flag, by the flag's type.
var wants = map[string]string{
	"bool": "true or false", "duration": "a time such as 500ms", "float64": "a number",
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number, not below 0",
	"uint8": "a whole number from 0 to 255", "uint16": "a whole number from 0 to 65535",
	"uint64": "a whole number, not below 0", "uintSlice": "whole numbers with commas between them",
}

// flagError says what is wrong with a flag and what to type.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = name[1:]
		}
		return fmt.Errorf("%s: there is no flag %s: write %s --help to see the flags", commandName(c), name,
			c.CommandPath())
	case errors.As(err, &bare):
		value, _ := valueOf(bare.GetFlag())
		return fmt.Errorf("%s: --%s needs a value: write --%[2]s %s", commandName(c), bare.GetFlag().Name,
			strings.ToUpper(value))
	case errors.As(err, &invalid):
		if want := wants[invalid.GetFlag().Value.Type()]; want != "" {
			return fmt.Errorf("%s: --%s %s: write %s", commandName(c), invalid.GetFlag().Name, invalid.GetValue(), want)
		}
		return fmt.Errorf("%s: --%s %w", commandName(c), invalid.GetFlag().Name, invalid.Unwrap())
	}
	var malformed *pflag.InvalidSyntaxError
	if errors.As(err, &malformed) {
		return fmt.Errorf("%s: %s is no flag: write %s --help to see the flags", commandName(c),
			malformed.GetSpecifiedFlag(), c.CommandPath())
	}
	return fmt.Errorf("%s: %w: write %s --help to see the flags", commandName(c), err, c.CommandPath())
}

// commandName is the command as it is typed behind the program's name.
func commandName(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "pfcswitch ") }

// argumentNames are the arguments in the Use of a command, its flags left out.
func argumentNames(c *cobra.Command) (names []string) {
	words := strings.Fields(c.Use)[1:]
	for i := 0; i < len(words); i++ {
		if strings.HasPrefix(words[i], "--") {
			i++ // its value
			continue
		}
		names = append(names, words[i])
	}
	return names
}

// checkArguments refuses a command line that lacks an argument of the command's Use, or has more than these. Arguments
// from the first in brackets on may be left out; "..." allows any number.
func checkArguments(c *cobra.Command, args []string) error {
	names := argumentNames(c)
	needed := names
	if i := slices.IndexFunc(names, func(name string) bool { return name[0] == '[' }); i >= 0 {
		needed = names[:i]
	}
	usage := "write " + strings.Join(append(strings.Fields(c.CommandPath()), strings.Fields(c.Use)[1:]...), " ")
	switch {
	case len(args) < len(needed):
		return fmt.Errorf("%s: missing %s: %s", commandName(c), strings.Join(needed[len(args):], " "), usage)
	case len(args) > len(names) && !strings.HasSuffix(c.Use, "..."):
		return fmt.Errorf("%s: %q is one argument too many: %s", commandName(c), args[len(names)], usage)
	case len(args) > 0 && len(c.ValidArgs) > 0 && !slices.Contains(c.ValidArgs, args[0]):
		return fmt.Errorf("%s: there is no %q: %s", commandName(c), args[0], usage)
	}
	return nil
}
