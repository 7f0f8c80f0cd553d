package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/web"
)

func webCommand() *cobra.Command {
	var o web.Options
	c := &cobra.Command{
		Use:   "web",
		Short: "show several switches on one page",
		Long: `Serves a page with all switches of a lab, until SIGINT or SIGTERM. It only reads. Name a
switch that runs here by its name, and another one by the path of its control socket, which has a slash, or by host:port
of its metrics. Without --switch the page shows all that run here.`,
		Example: "  pfcswitch web\n  pfcswitch web --switch leaf1 --switch 172.20.20.3:9808",
		Args:    checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, _ []string) error {
			m, err := config.ParseMetrics(o.Listen, o.Security, o.Hosts)
			if err != nil {
				return err
			}
			o.Reachable = m.Reachable()
			o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
			return web.Run(cmd.Context(), o)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:9809", "address of the page")
	f.StringArrayVar(&o.Switches, "switch", nil, "a `switch` to show (repeatable)")
	f.StringVar(&o.Security, "web-config", "", "file with certificate and passwords, of Prometheus' exporter-toolkit")
	f.StringArrayVar(&o.Hosts, "host", nil, "a `name` with a dot by which browsers may reach the page (repeatable)")
	completeRunning(c, "switch")
	return c
}
