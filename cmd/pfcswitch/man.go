package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"pfcswitch/cmd/internal/api"
)

// manCommand is for those who make packages.
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
