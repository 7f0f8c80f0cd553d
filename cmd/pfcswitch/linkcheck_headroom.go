package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pfcswitch/cmd/internal/api"
)

// A headroomCheck is what the user wants to know of a port's headroom.
type headroomCheck struct {
	xoffs, priority int
}

// flags adds those of the check to a command.
func (h *headroomCheck) flags(c *cobra.Command) {
	c.Flags().IntVar(&h.xoffs, "xoffs", api.DefaultXoffs, "with --headroom: how often the peer is told to stop")
	c.Flags().IntVar(&h.priority, "priority", -1, "with --headroom: the priority (default: the lowest lossless one)")
}

// ofPort is run where the arguments name a port alone.
func (h *headroomCheck) ofPort(cmd *cobra.Command, socket string, args []string, asJSON bool) error {
	if len(args) != 1 {
		return errors.New("linkcheck --headroom: name the port of a switch")
	}
	return h.run(cmd, socket, args[0], asJSON)
}

// run checks the headroom of a port of a running switch and prints what it has shown. Exit status: 0 it fits, 1 it does not, 2
// it could not be checked, or the link was not full.
func (h *headroomCheck) run(cmd *cobra.Command, socket, port string, asJSON bool) error {
	result, err := h.ask(cmd.Context(), socket, port)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pfcswitch: the headroom could not be checked:", err)
		return exit{couldNotRun}
	}
	err = printReport(cmd.OutOrStdout(), asJSON, result, func(out io.Writer) error {
		_, err := fmt.Fprint(out, result.Text())
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case !result.Fits:
		return exit{1}
	case result.Inconclusive != nil:
		return exit{couldNotRun}
	}
	return nil
}

func (h *headroomCheck) ask(ctx context.Context, socket, port string) (*api.HeadroomCheck, error) {
	ask := api.HeadroomCheckRequest{Port: port, Xoffs: h.xoffs}
	if h.xoffs < 1 {
		return nil, fmt.Errorf("--xoffs %d: it has to be 1 or more", h.xoffs)
	}
	if h.priority >= 0 {
		ask.Priority = &h.priority
	}
	path, err := api.Find(socket)
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return api.NewClient(path).CheckHeadroom(ctx, ask)
}
