package linkcheck

import "fmt"

// reportSilence says what is known of a link at whose other end nobody answers.
func (c *checker) reportSilence() {
	h := &c.counts
	known := fmt.Sprintf("this end's kernel took %d frames of %d", h.sent, h.sent+h.refused)
	switch {
	case h.sent == 0 && h.refusedErr != nil:
		known = fmt.Sprintf("this end's kernel takes no frame: %v", h.refusedErr)
	case h.frames == 0:
		known += ", and nothing at all came back: whether frames arrive there cannot be known from here"
	default:
		known += fmt.Sprintf(", and %d other frames came in meanwhile: the way back carries ordinary frames", h.frames)
	}
	pfc := unknown("pfc", known)
	if n := h.pause + h.pfc; n > 0 {
		pfc.Back = "pass"
		pfc.Text = fmt.Sprintf("%d PAUSE or PFC frames came in: they pass from there to here; whether ours arrive there cannot be known from here", n)
	}
	do := "run one of these at the other end, then ask again: pfcswitch run, pfcswitch nic --wire IF, or pfcswitch linkcheck --answer --interface IF"
	pfc.Remedy = &do
	c.add(pfc)
	c.add(unknown("tag", "only the other end can say with which tag a frame arrived"))
	c.add(unknown("mtu", fmt.Sprintf("this end takes frames of %d octets; only the other end can say what arrives", c.wire.MaxFrame())))
	c.add(unknown("checksum", "only the other end can say how a checksum arrived"))
	c.add(unknown("round-trip", "nothing came back"))
}
