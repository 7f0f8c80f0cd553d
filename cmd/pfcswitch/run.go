package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/cmd/internal/privilege"
)

func runCommand() *cobra.Command {
	var logs logFlags
	var metrics string
	var files, namespaces, ports []string
	c := &cobra.Command{
		Use:   "run",
		Short: "run the switch in the foreground",
		Long: "Runs the switch until SIGINT or SIGTERM. SIGHUP puts the file in force again; an error in it changes " +
			"nothing.\nWithout a file the switch takes every interface named eth1, eth2, … or e1-… that has no " +
			"address, no master and no\ndefault route, with preset roce. In containerlab (CLAB_INTFS) it waits for " +
			"them.",
		Example: "  pfcswitch run -c switch.yaml\n  pfcswitch run --port eth1 --port eth2 --metrics 127.0.0.1:9810",
		Args:    checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, _ []string) error {
			_ = privilege.Bound() // a switch tries again what failed, and reports why
			log, err := logs.open(os.Stderr)
			if err != nil {
				return err
			}
			guests, err := chooseGuests(cmd.Context(), files, namespaces, ports, metrics, log)
			if err != nil {
				return err
			}
			return host(cmd.Context(), guests)
		}),
	}
	c.Flags().StringArrayVarP(&files, "config", "c", nil, "configuration `file`; of several, each is a "+
		"switch of this process")
	c.Flags().StringArrayVar(&namespaces, "netns", nil, "network `namespace` of the switch of the -c before: a name, "+
		"path, or pid:PID")
	registerCompletion(c, "config", completeFile)
	c.Flags().StringArrayVar(&ports, "port", nil, "`interface` to take, instead of a file (repeatable)")
	c.Flags().StringVar(&metrics, "metrics", "", "`address` of metrics and page, or off, whatever the file says "+
		"(default: metrics.listen)")
	logs.flags(c)
	return c
}

// chooseGuests returns the switches of files, of which each may have a namespace, or the one without a file.
func chooseGuests(ctx context.Context, files, namespaces, ports []string, metrics string, log *slog.Logger) (
	guests []daemon.Guest, err error) {
	if len(namespaces) > 0 && len(namespaces) != len(files) {
		return nil, fmt.Errorf("--netns: there are %d, and %d of -c: write one behind each -c", len(namespaces),
			len(files))
	}
	if len(files) == 0 {
		files = []string{""}
	}
	for i, file := range files {
		cfg, err := chooseConfig(ctx, file, ports, metrics, len(files) > 1)
		if err != nil {
			return nil, err
		}
		g := daemon.Guest{Config: cfg, File: file, Log: log}
		if len(files) > 1 {
			g.Log = log.With("switch", cfg.Name)
		}
		if len(namespaces) > 0 {
			if g.Netns, err = config.ReadNetns(namespaces[i]); err != nil {
				return nil, fmt.Errorf("--netns %q: %w", namespaces[i], err)
			}
		}
		for _, other := range guests {
			switch {
			case other.Config.API.Socket == cfg.API.Socket:
				return nil, fmt.Errorf("%s and %s have the same control socket, %s: give each a name of its own",
					other.File, file, cfg.API.Socket)
			case metrics != "" && cfg.Metrics.Listen != "" && other.Netns == g.Netns:
				return nil, fmt.Errorf("--metrics %s: %s and %s are in the same network namespace: write "+
					"metrics.listen into each file", metrics, other.File, file)
			}
		}
		guests = append(guests, g)
	}
	return guests, nil
}

func chooseConfig(ctx context.Context, file string, ports []string, metrics string, several bool) (*config.Config,
	error) {
	var cfg *config.Config
	var warnings []config.Warning
	var err error
	switch {
	case file != "" && len(ports) > 0:
		return nil, fmt.Errorf("-c and --port exclude each other: name the ports in %s", file)
	case file != "":
		cfg, warnings, err = config.Load(file)
	default:
		if len(ports) == 0 {
			if ports, err = zeroPorts(ctx); err != nil {
				return nil, err
			}
		}
		cfg, warnings, err = config.ZeroConfig(ports...)
	}
	if err == nil && metrics != "" {
		if cfg, err = cfg.WithMetrics(metrics); err == nil {
			warnings = cfg.Warnings()
		}
	}
	for _, w := range warnings {
		if several {
			fmt.Fprintf(os.Stderr, "%s: ", cfg.Name)
		}
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
	return cfg, err
}

// intfsVariable is the number of interfaces that containerlab will add to a container.
const intfsVariable = "CLAB_INTFS"

// zeroPorts finds the interfaces of a switch without a configuration.
func zeroPorts(ctx context.Context) ([]string, error) {
	if text := os.Getenv(intfsVariable); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: it has to be the number of interfaces to wait for, as containerlab sets it",
				intfsVariable, text)
		}
		if n > 0 {
			return daemon.AwaitCandidates(ctx, int(n), func(seen []string) {
				fmt.Fprintf(os.Stderr, "waiting for %d interfaces (%s); so far there are:\n  %s\n", n, intfsVariable,
					strings.Join(seen, "\n  "))
			})
		}
	}
	names, seen, err := daemon.Candidates()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		if len(seen) == 0 {
			seen = []string{"none but loopback"}
		}
		return nil, fmt.Errorf("no interface to take. Seen:\n  %s\nName them with --port, write a file and use -c, "+
			"or try: pfcswitch demo", strings.Join(seen, "\n  "))
	}
	return names, nil
}

// host runs switches. Where there are several, standard output tells which of them do not run, and why.
func host(ctx context.Context, guests []daemon.Guest) error {
	return daemon.Host(ctx, guests, func(g *daemon.Guest, err error) {
		if len(guests) > 1 {
			fmt.Printf("%s does not run: %v\n", g.Config.Name, err)
		}
	})
}

// logFlags are the flags of a switch's log.
type logFlags struct{ format, level string }

func (l *logFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.format, "log", "text", "format of the log: text or json")
	c.Flags().StringVar(&l.level, "log-level", "info", "least `level` of its lines: debug (also errors of connections "+
		"to the page), info, warn or error")
}

func (l *logFlags) open(out io.Writer) (*slog.Logger, error) {
	level, ok := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError}[l.level]
	if !ok {
		return nil, fmt.Errorf("--log-level %s: the levels are debug, info, warn and error", l.level)
	}
	o := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(out, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, o)), nil
	}
	return nil, fmt.Errorf("--log %s: the formats are text and json", l.format)
}
