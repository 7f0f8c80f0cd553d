// Command judge gives the verdicts of scripts/test.sh.
package main

import (
	"os"

	"pfcswitch/cmd/internal/judge"
)

func main() { os.Exit(judge.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
