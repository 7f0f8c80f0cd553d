// Command pfcswitch is a software Ethernet switch that is lossless: it sends and obeys PAUSE and PFC, with the shared
// buffer of a switching chip. This package only parses the command line; the commands stand in cmd/internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/privilege"
)

// An exit ends the program with a status. The reason was printed before.
type exit struct{ status int }

func (e exit) Error() string { return fmt.Sprintf("exit status %d", e.status) }

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
		demoCommand(), sendCommand(),
		sinkCommand(), captureCommand(), webCommand(), explainCommand(), linkcheckCommand(), doctorCommand(),
		schemaCommand(), labCommand(),
		healthCommand(), eventsCommand(), topCommand(), versionCommand())
	completeNouns(root)
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

// untilSignal returns a context that ends on SIGINT, SIGTERM and the signals in more.
func untilSignal(ctx context.Context, more ...os.Signal) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, append(more, os.Interrupt, syscall.SIGTERM)...)
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
		fmt.Fprintln(os.Stderr, "pfcswitch:", err)
		os.Exit(1)
	}
}
