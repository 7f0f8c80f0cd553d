package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
)

func checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "check a configuration file without running it",
		Long: "Exit status 0 where the file is good (warnings on standard error), 1 with file:line: " +
			"key: what is wrong and what to do.\nPrints how long the receive rings take frames while the switch does " +
			"not run, and how long frames of each priority " +
			"wait\nat most in the buffer for each port. With -j, errors and warnings are on standard output.",
		Args:              checkArguments,
		ValidArgsFunction: forOneArgument(completeFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := checkFile(args[0])
			if asJSON {
				if err := api.WriteJSON(cmd.OutOrStdout(), r); err != nil {
					return err
				}
			} else {
				r.text(os.Stderr)
				r.result(cmd.OutOrStdout())
			}
			if !r.Good {
				return exit{1}
			}
			return nil
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

type checkReport struct {
	Schema   int            `json:"schema"`
	File     string         `json:"file"`
	Good     bool           `json:"good"`
	Errors   []finding      `json:"errors"`   // in the order of the file
	More     int            `json:"more"`     // further errors
	Warnings []finding      `json:"warnings"` // legal, but probably not intended
	Notes    []finding      `json:"notes"`    // numbers worth knowing
	Waits    []config.Wait  `json:"waits"`
	Rings    []api.RingSpan `json:"rings"`
}

// A finding is one thing about one key.
type finding struct {
	Line *int    `json:"line"` // from 1; null where the file could not be read
	Key  *string `json:"key"`  // path, such as ports.p1.speed; null for the file as a whole
	Text string  `json:"text"`

	line string // as text
}

func checkFile(path string) *checkReport {
	r := &checkReport{Schema: api.Schema, File: path}
	cfg, warnings, err := loadWithFiles(path)
	var faults *config.Errors
	switch {
	case errors.As(err, &faults):
		for _, e := range faults.List {
			r.Errors = append(r.Errors, found(e.Line, e.Key, e.Text, e.Error()))
		}
		r.More = faults.More
	case err != nil:
		r.Errors = []finding{{Text: err.Error(), line: err.Error()}}
	default:
		r.Good, r.Waits, r.Rings = true, cfg.Waits(), api.NewRingSpans(cfg)
		for _, w := range append(warnings, cfg.Check(daemon.MeasureMachine())...) {
			list := &r.Warnings
			if w.Note {
				list = &r.Notes
			}
			*list = append(*list, found(w.Line, w.Key, w.Text, w.String()))
		}
	}
	return r
}

func found(line int, key, text, whole string) finding {
	f := finding{Line: &line, Text: text, line: whole}
	if key != "" {
		f.Key = &key
	}
	return f
}

func (r *checkReport) text(out io.Writer) {
	for _, list := range []struct {
		level string
		found []finding
	}{{"", r.Errors}, {"warning: ", r.Warnings}, {"note: ", r.Notes}} {
		for _, f := range list.found {
			fmt.Fprintln(out, list.level+f.line)
		}
	}
	if r.More > 0 {
		fmt.Fprintf(out, "… and %d more\n", r.More)
	}
}

// result says that a file is good, and what its rings and its buffer mean in time.
func (r *checkReport) result(out io.Writer) {
	if !r.Good {
		return
	}
	with := ""
	switch n := len(r.Warnings); {
	case n == 1:
		with = ", with 1 warning"
	case n > 1:
		with = fmt.Sprintf(", with %d warnings", n)
	}
	fmt.Fprintf(out, "%s: OK%s\n", r.File, with)
	for _, table := range []string{api.RingSpansText(r.Rings), api.WaitsText(r.Waits)} {
		if table != "" {
			fmt.Fprintf(out, "\n%s", table)
		}
	}
}

// loadWithFiles reads a configuration and checks the files that it names. The warnings are about those files.
func loadWithFiles(path string) (cfg *config.Config, warnings []config.Warning, err error) {
	if cfg, _, err = config.Load(path); err == nil {
		warnings, err = daemon.CheckFiles(cfg)
	}
	return cfg, warnings, err
}

// schemaCommand prints the schema of a kind of file. above is the command that it belongs to, with a blank behind it.
func schemaCommand(above, file string, schema func() *config.Schema) *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of " + file,
		Long: `Prints a JSON Schema (draft 2020-12) with every key, its values, its default and what it means, for
editors that complete and check YAML. What keys say to each other "` + above + `check" alone knows.`,
		Example: "  pfcswitch " + above + "schema > pfcswitch.schema.json\n" +
			"  # first line of the file: # yaml-language-server: $schema=./pfcswitch.schema.json",
		Args: checkArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := schema().JSON()
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
