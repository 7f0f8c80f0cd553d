package macctl

// A Reason says why a received MAC Control frame was ignored, or obeyed but noted.
type Reason uint8

const (
	ReasonNone        Reason = iota // obeyed
	ReasonTruncated                 // shorter than its opcode requires
	ReasonDestination               // neither GroupAddress nor the port's own address
	ReasonOpcode                    // not a MAC Control frame, or an opcode that is not handled
	ReasonDisabled                  // PAUSE where PFC is on, PFC where PAUSE is on, or flow control is off
	ReasonPriority                  // PFC for a priority that is not enabled; enabled ones in the frame are obeyed
	ReasonVector                    // high octet of the PFC vector is not zero; the frame is obeyed all the same

	ReasonWatchdog // XOFF for something that Ignore has taken out of flow control, to break a deadlock

	NumReasons = int(iota) // for arrays indexed by Reason
)

var reasonNames = [NumReasons]string{"none", "truncated", "destination", "opcode", "disabled", "priority", "vector", "watchdog"}

// String returns the reason as it stands in metric labels.
func (r Reason) String() string {
	if int(r) >= NumReasons {
		return "unknown"
	}
	return reasonNames[r]
}
