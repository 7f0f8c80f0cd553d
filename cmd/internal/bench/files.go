package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// standardOutput is the name of a file that stands for it; what people read goes to the standard error output then.
const standardOutput = "-"

// folderVariable is where scripts/bench.sh, which goes to its repository, tells from which folder it was called.
const folderVariable = "BENCH_FOLDER"

// filesIn makes the names of files those of a folder, where they say none themselves.
func (o *options) filesIn(folder string) {
	for _, name := range []*string{&o.json, &o.svg} {
		if *name != "" && *name != standardOutput && !filepath.IsAbs(*name) {
			*name = filepath.Join(folder, *name)
		}
	}
}

// announce says what the run writes at its end. Where it could not, hours of measuring would end without their results: that is an error.
func (o *options) announce(out io.Writer) error {
	var errs []error
	for _, f := range []struct{ name, what string }{{o.json, "the results as JSON lines"}, {o.svg, "the plot"}} {
		switch f.name {
		case "":
		case standardOutput:
			fmt.Fprintf(out, "%s: to the standard output\n", f.what)
		default:
			fmt.Fprintf(out, "%s: to %s at the end, in place of what stands there\n", f.what, f.name)
			if err := unix.Access(filepath.Dir(f.name), unix.W_OK); err != nil {
				errs = append(errs, fmt.Errorf("%s cannot be written: %w", f.name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// writeFile writes a file as a whole; "" is none.
func writeFile(name string, write func(io.Writer) error) error {
	switch name {
	case "":
		return nil
	case standardOutput:
		return write(os.Stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
