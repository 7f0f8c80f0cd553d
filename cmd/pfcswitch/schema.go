package main

import (
	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
)

func schemaCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of the configuration file",
		Long: "Prints a JSON Schema (draft 2020-12) with every key, its values, its default and what it means, for editors that complete\n" +
			"and check YAML. What keys say to each other \"check\" alone knows.",
		Example: "  pfcswitch schema > pfcswitch.schema.json\n" +
			"  # first line of a configuration: # yaml-language-server: $schema=./pfcswitch.schema.json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := config.NewSchema().JSON()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(b)
			return err
		},
	}
	acceptJSON(c)
	return c
}
