package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/sonic"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "make a configuration of another switch's",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "sonic FILE",
		Short: "make a configuration of SONiC's config_db.json",
		Long: "Prints the configuration, and behind it as comments what of the file has no counterpart here, with a " +
			"reason\nfor each. Errors name table|key|field.",
		Example:           "  pfcswitch import sonic config_db.json > switch.yaml",
		Args:              checkArguments,
		ValidArgsFunction: forOneArgument(completeFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			im, err := sonic.Import(args[0], data)
			if err != nil {
				return err
			}
			if n := len(im.Left); n > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: without a counterpart: %d: the comments at the end say what, and "+
					"why\n", args[0], n)
			}
			_, err = cmd.OutOrStdout().Write(im.YAML)
			return err
		},
	})
	return c
}
