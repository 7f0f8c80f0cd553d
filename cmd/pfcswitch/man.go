//go:build man

package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

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
			header := &doc.GenManHeader{Source: "pfcswitch " + api.ThisVersion().Version, Manual: "pfcswitch"}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
