package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
)

// completionTimeout is short: a user who presses Tab does not wait for a switch.
const completionTimeout = 300 * time.Millisecond

func registerCompletion(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	_ = c.RegisterFlagCompletionFunc(flag, f) // fails only for a flag that does not exist
}

// completeSocket offers the switches that run here.
func completeSocket(c *cobra.Command) { completeRunning(c, "socket") }

// completeRunning offers the same for another flag.
func completeRunning(c *cobra.Command, flag string) {
	registerCompletion(c, flag, func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		if strings.Contains(typed, "/") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return api.RunningNames(), cobra.ShellCompDirectiveNoFileComp
	})
}

// portsOf returns the ports of the switch behind a socket; none where the switch does not answer in time.
func portsOf(socket string) []api.Port {
	path, err := api.Find(socket)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	r, err := api.NewClient(path).Show(ctx, "ports")
	if err != nil {
		return nil
	}
	return r.(*api.Ports).Ports
}

func offerPorts(socket *string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range portsOf(*socket) {
			state := "down"
			if p.Up {
				state = "up"
			}
			names = append(names, p.Port+"\t"+p.Interface+", "+state)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// forOneArgument offers something for the only argument of a command.
func forOneArgument(offer cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(c, args, typed)
	}
}

// completePriorities offers priorities, with the ports at which they are lossless.
func completePriorities(c *cobra.Command, socket *string) {
	registerCompletion(c, "priority", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var lossless [8][]string
		for _, p := range portsOf(*socket) {
			for _, prio := range p.LosslessPriorities {
				if prio >= 0 && int(prio) < len(lossless) {
					lossless[prio] = append(lossless[prio], p.Port)
				}
			}
		}
		var all []string
		for prio, ports := range lossless {
			name := fmt.Sprint(prio)
			if len(ports) > 0 {
				name += "\tlossless at " + strings.Join(ports, ", ")
			}
			all = append(all, name)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFile offers configuration files.
func completeFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeNouns offers the nouns of show in place of a command, once a letter is typed.
func completeNouns(root *cobra.Command) {
	root.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) (offered []string,
		_ cobra.ShellCompDirective) {
		show, _, err := c.Find([]string{"show"})
		if err != nil || len(args) > 0 || typed == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, noun := range show.Commands() {
			if own, _, err := c.Find([]string{noun.Name()}); strings.HasPrefix(noun.Name(), typed) &&
				(err != nil || own == c) {
				offered = append(offered, noun.Name()+"\tshow: "+noun.Short)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}
