package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "check a configuration file without running it",
		Long:  "Exit status 0 where the file is good (warnings on standard error), 1 with file:line: key: what is wrong and what to do.",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := loadWhole(args[0])
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return exit{1}
			}
			for _, w := range cfg.Check(daemon.MeasureMachine()) {
				level := "warning:"
				if w.Note {
					level = "note:"
				}
				fmt.Fprintln(os.Stderr, level, w)
			}
			return nil
		},
	}
}

// loadWhole reads a configuration and what the files that it names must be.
func loadWhole(path string) (*config.Config, error) {
	cfg, _, err := config.Load(path)
	if err == nil {
		err = daemon.CheckFiles(cfg)
	}
	return cfg, err
}
