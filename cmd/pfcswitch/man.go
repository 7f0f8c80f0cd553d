//go:build man

package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"pfcswitch/cmd/internal/api"
)

// The command man is for those who make packages. Its libraries are not in the program that they install.
func init() { taggedCommands = append(taggedCommands, manCommand()) }

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "write the man pages of all commands into a folder",
		Hidden: true,
		Args:   checkArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			describeAll(cmd.Root())
			header := &doc.GenManHeader{Source: "pfcswitch " + api.ThisVersion().Version, Manual: "pfcswitch"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return err
			}
			return withoutValue(args[0])
		},
	}
}

// A plainValue has no type of which the pages would tell.
type plainValue struct{ pflag.Value }

func (plainValue) Type() string { return "" }

// describeAll gives the flags of all commands what the pages are to say of them: their value, and their default.
func describeAll(c *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if _, done := f.Value.(plainValue); done {
				return
			}
			f.DefValue, f.Usage = described(f)
			f.NoOptDefVal, f.Value = "", plainValue{f.Value}
		})
	}
	for _, sub := range c.Commands() {
		describeAll(sub)
	}
}

// withoutValue removes the equals sign behind flags that have no value.
func withoutValue(folder string) error {
	pages, err := filepath.Glob(filepath.Join(folder, "pfcswitch*.1"))
	for _, page := range pages {
		text, readErr := os.ReadFile(page)
		if readErr != nil {
			return readErr
		}
		plain := strings.ReplaceAll(string(text), "\\fP=\n", "\\fP\n")
		plain = strings.ReplaceAll(plain, "\\fP[=false]\n", "\\fP\n") // --help, which each page adds
		if err := os.WriteFile(page, []byte(plain), 0o644); err != nil {
			return err
		}
	}
	return err
}
