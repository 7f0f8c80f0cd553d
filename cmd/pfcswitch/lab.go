package main

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/labexport"
	"pfcswitch/cmd/internal/labrun"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/topology"
)

func labCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab up FILE | run FILE | down FILE",
		Short: "network namespaces, links and switches of a topology file",
		Long: `A lab is what a file describes: switches and hosts, each in a network namespace of its own, and the
links between them. It stays until it is taken down. Root and ordinary users may have labs; those of a user are in
user namespaces.`,
		Example: "  pfcswitch lab up scripts/lab/incast.yaml\n" +
			"  pfcswitch lab exec incast h1 pfcswitch send eth0 --seconds 1\n" +
			"  pfcswitch lab run scripts/lab/incast.yaml\n" +
			"  pfcswitch lab down incast",
	}
	var part string
	var inProcess bool
	var scale float64
	up := labFileCommand("up", "bring a lab up: all of it or, on an error, nothing",
		func(cmd *cobra.Command, file string) error {
			o := topology.Options{Part: part, Keeper: keeper}
			if cmd.Flags().Changed("in-process") {
				o.InProcess = &inProcess
			}
			return topology.Up(cmd.Context(), file, o, cmd.OutOrStdout())
		})
	up.Long = "Returns when every switch forwards, and tells how to get into each node and which sockets the " +
		"switches have.\nOne process for all switches takes less CPU time and memory, and a crash of one ends all."
	up.Example = "  pfcswitch lab up --in-process scripts/lab/leaf-spine.yaml"
	down := labFileCommand("down", "take a lab down, by its file or its name",
		func(cmd *cobra.Command, file string) error {
			return topology.Down(cmd.Context(), file, part, cmd.OutOrStdout())
		})
	down.Long = "Removes all of it, also where processes of it were killed."
	hold := labFileCommand("hold", "keep a lab (started by lab up)", func(cmd *cobra.Command, file string) error {
		return topology.Hold(cmd.Context(), file, part, inProcess, scale)
	}, syscall.SIGHUP)
	hold.Hidden = true
	hold.Flags().Float64Var(&scale, "scale", 1, "the speeds and rates of the file, times this")
	for _, sub := range []*cobra.Command{up, hold} {
		sub.Flags().BoolVar(&inProcess, "in-process", false, "run all switches in one process; =false: each in one "+
			"of its own (default: one process where there are more than 8)")
	}
	exec := &cobra.Command{
		Use:   "exec FILE NODE PROGRAM [ARGUMENT]...",
		Short: "run a program inside a node of a lab",
		Long:  "FILE is the lab's file or its name. Needs nsenter.",
		Args:  checkArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return topology.Exec(args[0], part, args[1], args[2:]) },
	}
	exec.Flags().SetInterspersed(false) // flags behind the program are its own
	restart := &cobra.Command{
		Use:   "restart FILE SWITCH",
		Short: "start one switch or host NIC of a lab again",
		Long: "Returns when it forwards. The others go on; what comes to it meanwhile is lost. FILE is the lab's " +
			"file or its name.\nWhat apply has changed since the lab came up is undone. A switch whose process was " +
			"killed is started again,\nand with it all others that ran in that process.",
		Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, args []string) error {
			return topology.Restart(cmd.Context(), args[0], part, args[1], cmd.OutOrStdout())
		}),
	}
	for _, sub := range []*cobra.Command{up, down, exec, restart, hold} {
		partFlag(sub, &part)
	}
	ls := &cobra.Command{
		Use:   "ls",
		Short: "list the labs that are up, and what killed ones left",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return topology.List(cmd.OutOrStdout()) },
	}
	c.AddCommand(up, labRunCommand(), down, exec, restart, ls, labCheckCommand(), labGraphCommand(),
		labExportCommand(), hold, schemaCommand("lab ", "the file of a lab", config.NewLabSchema))
	return c
}

func partFlag(c *cobra.Command, part *string) {
	c.Flags().StringVar(part, "part", "", "the part that this machine has, of those in the file (default: the whole "+
		"lab, on this machine)")
}

func labCheckCommand() *cobra.Command {
	c := labFileCommand("check", "check the file of a lab without bringing it up",
		func(cmd *cobra.Command, file string) error {
			t, err := config.LoadTopology(file)
			if err != nil {
				return err
			}
			for _, w := range t.Warnings() {
				fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v\n", w)
			}
			parts := ""
			if n := len(t.Parts); n > 0 {
				parts = fmt.Sprintf(", parts %d", n)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: OK: lab %s: switches %d, hosts %d, links %d%s\n", file,
				t.Name, len(t.Switches), len(t.Hosts), len(t.Links), parts)
			return err
		})
	c.Long = "Exit status 0 where the file is good (warnings on standard error), 1 with file:line: key: what is " +
		"wrong and what to do."
	return c
}

func labGraphCommand() *cobra.Command {
	c := labFileCommand("graph", "print the lab in the language of Graphviz",
		func(cmd *cobra.Command, file string) error {
			t, err := config.LoadTopology(file)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(labexport.Graph(t))
			return err
		})
	c.Example = "  pfcswitch lab graph scripts/lab/incast.yaml | dot -Tsvg > incast.svg"
	return c
}

func labExportCommand() *cobra.Command {
	var part, folder string
	c := &cobra.Command{
		Use:   "export clab|kne FILE",
		Short: "write the files with which containerlab or KNE runs the lab in containers",
		Long: "Writes the topology file of the engine, and a configuration for each switch and host NIC; prints " +
			"their paths.\nNo file is overwritten. Standard error names each entry of the file for which the engine " +
			"has no counterpart.",
		Example: "  pfcswitch lab export clab -o incast scripts/lab/incast.yaml\n" +
			"  containerlab deploy -t incast/incast.clab.yml",
		Args: checkArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := config.LoadTopology(args[1])
			if err == nil {
				t, err = t.Part(part)
			}
			if err != nil {
				return err
			}
			paths, missing, err := labexport.Write(t, args[0], folder)
			if err != nil {
				return err
			}
			for _, path := range paths {
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			for _, m := range missing {
				fmt.Fprintf(cmd.ErrOrStderr(), "not in the files: %v\n", m)
			}
			return nil
		},
	}
	partFlag(c, &part)
	c.Flags().StringVarP(&folder, "output", "o", ".", "the folder for the files")
	return c
}

// keeper is the command that keeps a lab.
var keeper = []string{"lab", "hold"}

func labRunCommand() *cobra.Command {
	var asJSON bool
	var svg, page string
	o := labrun.Options{Keeper: keeper}
	c := labFileCommand("run", "send what the traffic section of a file says, on real links, and judge it",
		func(cmd *cobra.Command, file string) error {
			return judged(cmd, asJSON, func(progress func(string)) (*simulation.Report, error) {
				o.Progress = progress
				return withFile("--svg", svg, func(picture io.Writer) (*simulation.Report, error) {
					return withFile("--report", page, func(out io.Writer) (*simulation.Report, error) {
						r, err := labrun.Run(cmd.Context(), file, o)
						if err == nil && picture != nil {
							err = r.HoldsPicture(picture)
						}
						if err == nil && out != nil {
							err = r.Page(out)
						}
						return r, err
					})
				})
			})
		}, syscall.SIGHUP)
	c.Long = "Starts a sender in each host that sends and a sink in each that receives. A host obeys PFC or PAUSE as " +
		"its port has it,\nand shares its link among its flows. The report is that of pfcswitch sim, which runs the " +
		"same file in virtual time.\nA lab that is not up is brought up, and taken down again.\nExit status: " +
		"0 passed, 1 failed, 2 could not run."
	c.Example = "  pfcswitch lab run scripts/lab/incast.yaml"
	jsonFlag(c, &asJSON)
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "what the random numbers of poisson begin with: sim has the same flows")
	c.Flags().BoolVar(&o.Calibrate, "calibrate", false, "lower all speeds and rates by one factor where this machine "+
		"does not carry them, or seven full links of 1G do not")
	c.Flags().StringVar(&svg, "svg", "", "draw who held whom into this file")
	c.Flags().StringVar(&page, "report", "", "write the report as one HTML page into this file")
	return notRunOnUsage(c)
}

func labFileCommand(name, short string, run func(*cobra.Command, string) error, more ...os.Signal) *cobra.Command {
	return &cobra.Command{Use: name + " FILE", Short: short, Args: checkArguments,
		RunE: untilSignal(func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) }, more...)}
}
