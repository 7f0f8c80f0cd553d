package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/lab"
)

// couldNotRun is the exit status where nothing was judged.
const couldNotRun = 2

func demoCommand() *cobra.Command {
	var seconds float64
	var speed string
	var asJSON, keep bool
	c := &cobra.Command{
		Use:       "demo [incast]",
		Short:     "show on real links that nothing is lost",
		Long:      "Builds a small network in namespaces of its own, with switches, senders and a receiver as separate processes, and\njudges what arrives. It needs neither a file nor root. Exit status: 0 passed, 1 failed, 2 could not be judged.",
		Example:   "  pfcswitch demo\n  pfcswitch demo incast --speed 500M --seconds 10",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"incast"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, inside, err := lab.Enter(os.Args[1:])
			if err != nil {
				fmt.Fprintln(os.Stderr, "pfcswitch:", err)
				return exit{couldNotRun}
			}
			if !inside {
				return exit{status}
			}
			bits, err := config.ParseRate(speed)
			if err != nil {
				return fmt.Errorf("--speed %s: %w", speed, err)
			}
			if seconds < 1 || seconds > 3600 {
				return fmt.Errorf("--seconds %v: it has to be from 1 to 3600", seconds)
			}
			o := demo.Options{Seconds: seconds, Speed: bits, Progress: func(text string) { fmt.Fprintln(os.Stderr, text) }}
			if keep {
				o.Enter = stay
			}
			return incast(cmd, o, asJSON)
		},
	}
	c.Flags().Float64Var(&seconds, "seconds", 5, "seconds of load in each act")
	c.Flags().StringVar(&speed, "speed", "200M", "speed of the hosts' ports in bit/s")
	c.Flags().BoolVarP(&asJSON, "json", "j", false, "report as JSON")
	c.Flags().BoolVar(&keep, "keep", false, "leave the last act's lab up and print how to enter it, until Enter is pressed")
	return c
}

func incast(cmd *cobra.Command, o demo.Options, asJSON bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := demo.Incast(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pfcswitch: the demo could not run:", err)
		return exit{couldNotRun}
	}
	if err := printReport(cmd.OutOrStdout(), asJSON, r, r.Text); err != nil {
		return err
	}
	switch {
	case r.Machine != "":
		return exit{couldNotRun}
	case !r.Pass:
		return exit{1}
	}
	return nil
}

// stay keeps the lab until the user presses Enter or interrupts.
func stay(commands []string) {
	fmt.Fprintln(os.Stderr, "the lab stays up; enter its nodes with")
	for _, c := range commands {
		fmt.Fprintln(os.Stderr, " ", c)
	}
	fmt.Fprintln(os.Stderr, "press Enter to take it down")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pressed := make(chan struct{})
	go waitForEnter(pressed)
	select {
	case <-ctx.Done():
	case <-pressed:
	}
}

func waitForEnter(pressed chan<- struct{}) {
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	close(pressed)
}
