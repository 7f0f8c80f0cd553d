package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
)

func nicCommand() *cobra.Command {
	n, logs := config.NIC{}, logFlags{}
	c := &cobra.Command{
		Use:   "nic --wire INTERFACE",
		Short: "make this host obey and send PFC",
		Long: `Puts a lossless NIC between the host's own stack and an interface: a TAP, which has the addresses of
the host in place of the interface and a MAC address of its own, so that what ordinary programs send waits in the
host while its priority is paused. A frame's priority is that of its VLAN tag, its DSCP or its socket (SO_PRIORITY).
It lasts until SIGINT or SIGTERM, and the TAP with it.`,
		Example: "  pfcswitch nic --wire eth1 --address 10.0.0.1/24\n" +
			"  iperf3 -c 10.0.0.2 --dscp 26        # priority 3, which is lossless",
		Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, _ []string) error {
			if n.Wire == "" {
				return fmt.Errorf("--wire is missing: name the interface that leads out of this host, as `ip link` " +
					"shows it")
			}
			log, err := logs.open(os.Stderr)
			if err != nil {
				return err
			}
			cfg, warnings, err := config.HostNIC(n)
			for _, w := range warnings {
				fmt.Fprintln(os.Stderr, "warning:", w)
			}
			if err != nil {
				return err
			}
			return host(cmd.Context(), []daemon.Guest{{Config: cfg, Log: log}})
		}),
	}
	f := c.Flags()
	f.StringVar(&n.Wire, "wire", "", "interface that leads out of this host")
	f.StringVar(&n.TAP, "tap", "host0", "name of the interface that the host gets")
	f.StringArrayVar(&n.Addresses, "address", nil, "`address` of that interface, such as 10.0.0.1/24 (repeatable)")
	f.StringVar(&n.Speed, "speed", "", "speed of the wire in bit/s, or none (default: 1G on veth, the link's "+
		"own on a NIC)")
	f.IntVar(&n.MTU, "mtu", 0, "MTU of both (default: 1500)")
	f.StringVar(&n.Name, "name", "", "name of the NIC, where several run on this machine (default: nic- and "+
		"the wire)")
	f.StringVar(&n.Socket, "socket", "", "its control socket (default: /run/pfcswitch/NAME.sock)")
	f.BoolVar(&n.Streams, "send-request", false, "let the switch fill the wire with test frames, for "+
		"pfcswitch linkcheck --headroom there")
	f.StringVar(&n.Nice, "nice", "", "priority over other programs, -20 (most) to 19 (default: -10)")
	f.StringVar(&n.Metrics, "metrics", "", "address of /metrics, or off (default: 127.0.0.1:9808)")
	logs.flags(c)
	return c
}
