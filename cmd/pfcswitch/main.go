// Command pfcswitch is a software Ethernet switch that is lossless: it sends and obeys PAUSE and PFC, with the shared
// buffer of a switching chip. This package only parses the command line; the commands stand in cmd/internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/privilege"
)

// An exit ends the program with a status. The reason was printed before.
type exit struct{ status int }

func (e exit) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// taggedCommands are those of a build with tags alone.
var taggedCommands []*cobra.Command

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "pfcswitch",
		Short: "a lossless Ethernet switch in software",
		Long: "pfcswitch bridges frames between Linux interfaces with the shared buffer of a switching " +
			"chip, and sends and\nobeys PAUSE and PFC, so that a lossless priority loses nothing.\n\nTry it without " +
			"root and without a network:  pfcswitch demo",
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	}
	root.AddCommand(runCommand(), nicCommand(), checkCommand(), applyCommand(), showCommand(), clearCommand(),
		demoCommand(), sendCommand(), sinkCommand(), captureCommand(), webCommand(), explainCommand(),
		linkcheckCommand(), doctorCommand(), schemaCommand("", "the configuration file", config.NewSchema),
		importCommand(), labCommand(), simCommand(), healthCommand(), eventsCommand(), topCommand(), versionCommand())
	root.AddCommand(taggedCommands...)
	completeNouns(root)
	speakPlainly(root)
	return root
}

// expandArguments returns the arguments with every abbreviation expanded. In a completion request of the shell the last
// word stays, and the others stay where they are ambiguous.
func expandArguments(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		words, last := args[1:len(args)-1], args[len(args)-1]
		if spelled, err := expandWords(root, words); err == nil {
			words = spelled
		}
		return slices.Concat(args[:1], words, []string{last}), nil
	}
	return expandWords(root, args)
}

// untilSignal makes a command whose context ends on SIGINT, SIGTERM and the signals in more.
func untilSignal(run func(cmd *cobra.Command, args []string) error, more ...os.Signal) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), append(more, os.Interrupt, syscall.SIGTERM)...)
		defer stop()
		cmd.SetContext(ctx)
		return run(cmd, args)
	}
}

// couldNotRun is the exit status where nothing was judged.
const couldNotRun = 2

// notRun prints what stood in the way and returns the exit status for it.
func notRun(what string, err error) error {
	fmt.Fprintf(os.Stderr, "pfcswitch: %s%v\n", what, err)
	return exit{couldNotRun}
}

func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVarP(asJSON, "json", "j", false, "print JSON")
}

// printReply prints an answer for people, or as JSON.
func printReply(out io.Writer, asJSON bool, r interface{ Text() string }) error {
	return printReport(out, asJSON, r, func(w io.Writer) error {
		_, err := io.WriteString(w, r.Text())
		return err
	})
}

func printReport(out io.Writer, asJSON bool, report any, text func(io.Writer) error) error {
	if asJSON {
		return api.WriteJSON(out, report)
	}
	return text(out)
}

// complaint is what an error says to people. Of a command that a signal ended, it says so beside what else there is.
func complaint(err error) string {
	text := err.Error()
	for _, words := range interruptions(err) {
		text = strings.ReplaceAll(text, words, "interrupted before it was done")
	}
	return text
}

// interruptions are the words of the errors in err that say no more than that something was interrupted: each package
// has its own.
func interruptions(err error) (words []string) {
	var in []error
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		in = e.Unwrap()
	case interface{ Unwrap() error }:
		in = []error{e.Unwrap()}
	}
	for _, e := range in {
		words = append(words, interruptions(e)...)
	}
	if len(words) == 0 && errors.Is(err, context.Canceled) {
		return []string{err.Error()}
	}
	return words
}

func main() {
	if err := privilege.Raise(); err != nil {
		fmt.Fprintln(os.Stderr, "pfcswitch:", err)
	}
	root := rootCommand()
	args, err := expandArguments(root, os.Args[1:])
	if err == nil {
		root.SetArgs(args)
		err = root.Execute()
	}
	if err != nil {
		var e exit
		if errors.As(err, &e) {
			os.Exit(e.status)
		}
		fmt.Fprintln(os.Stderr, "pfcswitch:", complaint(err))
		os.Exit(1)
	}
}
