// Package judge gives the verdicts of scripts/test.sh (cmd/judge), so that the script needs neither jq nor Python:
//
//	go test -json ./... | judge tests [-no-skips]
//	pfcswitch demo incast|host|headroom|deadlock|trunk|dcqcn -j | judge demo
//
// tests.go reads the events of go test, demo.go and links.go the report of a demo. The exit status is 0 where all is
// well, 1 where it is not and 2 where the input cannot be read.
package judge

import (
	"flag"
	"fmt"
	"io"
)

// Run judges what it reads by the arguments of the command line and returns the exit status.
func Run(args []string, in io.Reader, out, errOut io.Writer) (status int) {
	if len(args) == 0 {
		args = []string{""}
	}
	var verdict func() (ok bool, err error)
	flags := flag.NewFlagSet("judge "+args[0], flag.ContinueOnError)
	flags.SetOutput(errOut)
	switch args[0] {
	case "tests":
		noSkips := flags.Bool("no-skips", false, "a skipped test fails")
		verdict = func() (bool, error) { return judgeTests(in, out, *noSkips) }
	case "demo":
		verdict = func() (bool, error) { return judgeDemo(in, out) }
	default:
		fmt.Fprintln(errOut, "usage: judge tests [-no-skips] | judge demo, on standard input")
		return 2
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	switch ok, err := verdict(); {
	case err != nil:
		fmt.Fprintln(errOut, "judge:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}
