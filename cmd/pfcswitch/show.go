package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/watch"
)

const socketUsage = "control socket of the switch, a path, or the name of one that runs here (default: $" +
	api.SocketVariable + ", else the one that runs)"

func socketFlag(c *cobra.Command, socket *string) {
	c.Flags().StringVarP(socket, "socket", "s", "", socketUsage)
	completeSocket(c)
}

type showFlags struct {
	socket     string
	json       bool
	ports      []string
	priorities []uint
	every      intervalValue
}

func showCommand() *cobra.Command {
	var o showFlags
	c := &cobra.Command{
		Use:   "show",
		Short: "show the state of a running switch",
		Long: `Shows the state of a running switch. Words may be abbreviated as long as they are clear: pfcswitch sh
po. With --watch it looks again and again, and rates are those between two looks.`,
		Example: "  pfcswitch show pfc\n  pfcswitch show pfc --watch 2 --port eth1\n  pfcswitch show buffer -j\n  " +
			"pfcswitch show priority-group watermark headroom",
		Args: checkArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, noun := range []*cobra.Command{
		{Use: "ports", Aliases: []string{"interfaces"}, Short: "ports: link, speed, flow control, rates, drops"},
		{Use: "pfc", Short: "who pauses whom: frames and time, in both directions"},
		{Use: "buffer", Short: "pools, ingress queues with their thresholds and headroom, watermarks"},
		{Use: "headroom", Short: "headroom that links need by calculation and measurement, in force, really used"},
		{Use: "queues", Short: "egress queues: sent, dropped, waiting; drops by reason"},
		{Use: "trunk", Short: "trunks: members and uplink, meters and colours, who is held"},
		{Use: "watchdog", Aliases: []string{"pfcwd"},
			Short: "deadlocks: how each queue is watched, storms detected and restored"},
		{Use: "fdb", Aliases: []string{"mac"}, Short: "the filtering database"},
		{Use: "lldp", Short: "neighbors, and what DCBX has agreed with them"},
		{Use: "history", Short: "the last five minutes: rates, utilization, pauses, buffer of each port"},
		{Use: "threads", Short: "threads that move the frames: whether each looks at its ports, longest gap"},
		{Use: "events", Short: "what a person should know, oldest first"},
		{Use: "config", Short: "the configuration in force, every default written out"},
	} {
		o.showNoun(noun)
		c.AddCommand(noun)
	}
	showViews(&o, c)
	f := c.PersistentFlags()
	f.StringVarP(&o.socket, "socket", "s", "", socketUsage)
	f.BoolVarP(&o.json, "json", "j", false, "print JSON")
	f.StringArrayVar(&o.ports, "port", nil, "`port` to show (repeatable; default: all)")
	f.UintSliceVar(&o.priorities, "priority", nil, "`priorities` to show (default: all)")
	f.VarP(&o.every, watchFlag, "w", "look again and again, every `interval`: seconds, or a time such as 500ms "+
		"(default: 1s)")
	f.Lookup(watchFlag).NoOptDefVal = "1s"
	completeSocket(c)
	registerCompletion(c, "port", offerPorts(&o.socket))
	completePriorities(c, &o.socket)
	return c
}

// showNoun completes the command of a noun.
func (o *showFlags) showNoun(c *cobra.Command) {
	var since uint64
	var detail, check bool
	c.Args = checkArguments
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if check && o.every > 0 {
			return notRun("", errors.New("show watchdog: --check looks once: leave out --watch"))
		}
		r, err := o.show(cmd, c.Use, since, textOf(detail))
		switch w, _ := r.(*api.Watchdog); {
		case !check:
			return err
		case err != nil:
			return notRun("", err)
		case !w.Quiet():
			return exit{1}
		}
		return nil
	}
	switch c.Use {
	case "watchdog":
		c.Flags().BoolVar(&check, "check", false, "exit status 1 where a queue is stormed, or closed after "+
			"storms; 2 where the switch could not be asked")
	case "events":
		c.Flags().Uint64Var(&since, "since", 0, "first event to show, by sequence number")
	case "headroom":
		c.Flags().BoolVarP(&detail, "verbose", "v", false, "also how each value came about, the use of each queue, "+
			"and the measurement frames")
	case "ports":
		c.Flags().BoolVarP(&detail, "verbose", "v", false, "also interfaces, programs in the kernel, and counters")
	case "queues":
		c.Flags().BoolVarP(&detail, "all", "a", false, "also queues that had nothing to do")
	}
}

// textOf returns the function that formats an answer as text, with details where the answer has some.
func textOf(detail bool) func(api.Reply) string {
	return func(r api.Reply) string {
		if d, ok := r.(interface{ Detail() string }); ok && detail {
			return d.Detail()
		}
		return r.Text()
	}
}

// showViews adds the tables of SONiC's commands, each under its own words.
func showViews(o *showFlags, show *cobra.Command) {
	views := api.Views()
	for _, group := range slices.Sorted(maps.Keys(views)) {
		for _, v := range views[group] {
			c := show
			for _, word := range append([]string{group}, strings.Fields(v.Words)...) {
				c = subcommand(c, word)
			}
			c.Short, c.Args = v.Short, checkArguments
			c.RunE = func(cmd *cobra.Command, _ []string) error {
				_, err := o.show(cmd, v.Noun, 0, v.Text)
				return err
			}
		}
	}
	subcommand(show, "priority-group").Short = "watermarks of priority groups, as SONiC shows them"
	subcommand(show, "buffer-pool").Short = "watermarks of pools, as SONiC shows them"
}

// subcommand returns the command of a name below c, and adds it where there is none.
func subcommand(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	sub := &cobra.Command{Use: name, Short: "watermarks, by segment", Args: checkArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(sub)
	return sub
}

// show prints the answer to a noun once, and returns it, or prints one again and again.
func (o *showFlags) show(cmd *cobra.Command, noun string, since uint64, text func(api.Reply) string) (api.Reply,
	error) {
	filter, err := o.filter()
	if err != nil {
		return nil, err
	}
	path, err := api.Find(o.socket)
	if err != nil {
		return nil, err
	}
	client := api.NewClient(path)
	ask := func(ctx context.Context) (api.Reply, error) {
		b, err := client.Raw(ctx, noun, since)
		if err != nil {
			return nil, err
		}
		r, err := api.Parse(noun, b)
		if err != nil {
			return nil, err
		}
		filter.Existing = func() ([]string, error) { return portNames(ctx, client) }
		return r, filter.Apply(r)
	}
	if o.every > 0 {
		return nil, untilSignal(func(cmd *cobra.Command, _ []string) error { return o.watch(cmd, ask, text) })(cmd, nil)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), watch.Timeout)
	defer cancel()
	r, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	return r, printReport(cmd.OutOrStdout(), o.json, r, func(out io.Writer) error {
		_, err := io.WriteString(out, inColour(out, tinted)(text(r)))
		return err
	})
}

func portNames(ctx context.Context, client *api.Client) (names []string, err error) {
	r, err := client.Show(ctx, "ports")
	if err != nil {
		return nil, err
	}
	for _, p := range r.(*api.Ports).Ports {
		names = append(names, p.Port)
	}
	return names, nil
}

// watch prints the answers until Ctrl-C.
func (o *showFlags) watch(cmd *cobra.Command, ask func(context.Context) (api.Reply, error),
	text func(api.Reply) string) error {
	w := watch.Options{Ask: ask, Every: time.Duration(o.every), Out: cmd.OutOrStdout(), Notices: cmd.ErrOrStderr(),
		Separate: !o.json}
	w.Print = func(out io.Writer, r api.Reply) error {
		if o.json {
			return api.WriteJSONLine(out, r)
		}
		_, err := fmt.Fprint(out, text(r))
		return err
	}
	if !o.json && w.Out == os.Stdout && terminal(os.Stdout) {
		w.Size = func() (columns, rows int) { return terminalSize(os.Stdout) }
		w.Colour = inColour(w.Out, tinted)
		fmt.Fprint(w.Out, "\x1b[2J")
	}
	return watch.Run(cmd.Context(), w)
}

func terminalSize(f *os.File) (columns, rows int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

func (o *showFlags) filter() (f api.Filter, err error) {
	f.Ports = o.ports
	for _, p := range o.priorities {
		if p > 7 {
			return f, fmt.Errorf("--priority %d: priorities are 0 to 7", p)
		}
		f.Priorities = append(f.Priorities, api.Priority(p))
	}
	return f, nil
}

// intervalValue is the flag for the time between two answers; 0: print once.
type intervalValue time.Duration

func (e *intervalValue) String() string { return "" }

// Set implements pflag.Value.
func (e *intervalValue) Set(text string) error {
	d, err := parseInterval(text)
	*e = intervalValue(d)
	return err
}

// Type implements pflag.Value.
func (e *intervalValue) Type() string { return "interval" }

func clearCommand() *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use:       "clear watermarks|counters",
		Short:     "begin the counters or watermarks of show at 0 again",
		Long:      `Starts the counters or watermarks that "show" prints again. The counters of /metrics never go back.`,
		Args:      checkArguments,
		ValidArgs: []string{"watermarks", "counters"},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), watch.Timeout)
			defer cancel()
			return api.NewClient(path).Clear(ctx, args[0])
		},
	}
	socketFlag(c, &socket)
	return c
}

func applyCommand() *cobra.Command {
	var socket string
	var asJSON, dry bool
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "change the configuration of a running switch",
		Long: "Puts the file in force while the switch runs, all of it, and returns when it is. Prints each key that " +
			"changes, and what\nthe change has cost. On an error the old configuration stays and the exit status is 1.",
		Example:           "  pfcswitch apply --dry-run switch.yaml\n  pfcswitch apply switch.yaml",
		Args:              checkArguments,
		ValidArgsFunction: forOneArgument(completeFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			yaml, err := config.ReadFile(args[0])
			if err != nil {
				return err
			}
			path, err := api.Find(socket)
			if err != nil {
				return err
			}
			a, err := api.NewClient(path).Apply(cmd.Context(), args[0], yaml, dry)
			if err != nil {
				return err
			}
			for _, w := range a.Warnings {
				fmt.Fprintln(os.Stderr, "warning:", w)
			}
			return printReply(cmd.OutOrStdout(), asJSON, a)
		},
	}
	socketFlag(c, &socket)
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would change, and change nothing")
	return c
}

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "print version, commit and platform",
		Args:  checkArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := api.ThisVersion()
			return printReply(cmd.OutOrStdout(), asJSON, &v)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}
