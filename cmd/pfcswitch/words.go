package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// speakPlainly puts the commands below headings, and replaces the parser's own words about flags.
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
	plainDefaults(root)
}

// plainDefaults writes default values of lists without brackets, and that of an empty one not at all.
func plainDefaults(c *cobra.Command) {
	for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if f.DefValue != "[]" || f.Value.Type() == "uintSlice" { // pflag itself leaves out "[]" of other types
				f.DefValue = strings.Trim(f.DefValue, "[]")
			}
		})
	}
	for _, sub := range c.Commands() {
		plainDefaults(sub)
	}
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
		value, _ := pflag.UnquoteUsage(bare.GetFlag())
		return fmt.Errorf("%s: --%s needs a value: write --%[2]s %s", commandName(c), bare.GetFlag().Name,
			strings.ToUpper(value))
	case errors.As(err, &invalid):
		if want := wants[invalid.GetFlag().Value.Type()]; want != "" {
			return fmt.Errorf("%s: --%s %s: write %s", commandName(c), invalid.GetFlag().Name, invalid.GetValue(), want)
		}
		return fmt.Errorf("%s: --%s %w", commandName(c), invalid.GetFlag().Name, invalid.Unwrap())
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
