package topology

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"pfcswitch/cmd/internal/lab"
)

// List prints the labs of this user: those that are up, and those of which a killed keeper left something.
func List(out io.Writer) error {
	dir, err := stateDir()
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LAB\tSTATE\tNODES\tLINKS\tFILE")
	for _, path := range paths {
		locked, err := lab.Locked(path)     // by the keeper of a lab that is up
		if errors.Is(err, os.ErrNotExist) { // it has just ended
			continue
		}
		if err != nil {
			return err
		}
		s, _ := readState(path)
		state := "up"
		switch {
		case !locked:
			state = "killed"
		case len(s.Nodes) == 0:
			state = "coming up"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", strings.TrimSuffix(filepath.Base(path), ".json"), state, len(s.Nodes),
			s.Links, s.File)
	}
	return w.Flush()
}
