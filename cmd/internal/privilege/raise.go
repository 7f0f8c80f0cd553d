// Package privilege puts the capabilities to use that a program's file gives it, and gives up what a running switch
// does not need.
//
// A container image gives its program capabilities as permitted, not as effective (setcap
// cap_net_raw,cap_net_admin,cap_bpf=p): with the effective bit the kernel refuses to run the program at all where the
// container may not have one of them. So it runs, raises what it got, and says itself what it lacks.
package privilege

import (
	"fmt"

	"kernel.org/pub/linux/libs/security/libcap/cap"
)

// Raise makes all permitted capabilities effective, in every thread. It does nothing if they are effective already.
func Raise() error {
	c := cap.GetProc()
	before, err := c.Dup()
	if err != nil {
		return err
	}
	if err := c.Fill(cap.Effective, cap.Permitted); err != nil {
		return err
	}
	if differs, err := c.Cf(before); err != nil || differs == 0 {
		return err
	}
	if err := c.SetProc(); err != nil {
		return fmt.Errorf("raise the capabilities of the program's file: %w", err)
	}
	return nil
}
