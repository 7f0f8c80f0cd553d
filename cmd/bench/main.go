// Command bench measures pfcswitch beside other switches; scripts/bench.sh runs it. The command is a program of its
// own, so that the switch's binary carries none of it.
package main

import (
	"os"

	"pfcswitch/cmd/internal/bench"
)

func main() { os.Exit(bench.Run(os.Args[1:])) }
