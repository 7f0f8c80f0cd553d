package config

import "strconv"

// Override holds the settings of one priority of a port; nil means the setting of buffer. Sizes are in bytes.
type Override struct {
	Alpha     *float64
	Headroom  *Headroom
	Private   *int64
	Xon       *int64
	XonOffset *int64
	Xoff      *int64
}

// readOverrides reads the port's own priorities. A port with PAUSE has one lossless queue, so its only key is all.
func (p *Port) readOverrides(v value) {
	v.each(`^([0-7]|all)$`, "0", func(name string, v value) {
		priority, err := strconv.ParseUint(name, 10, 3)
		switch {
		case name == "all" && p.FlowControl == FlowPause:
			p.Priorities[0].read(v)
		case name == "all":
			v.fail("all is the one queue of a port with flow_control: pause, and this port has %s: "+
				"name the priority, or change flow_control. %s", p.FlowControl, exclusive)
		case err != nil || len(name) != 1:
			v.fail("%q is no priority: write 0 to 7", name)
		case p.FlowControl == FlowPause:
			v.fail("with flow_control: pause all eight priorities are one queue: write all, or flow_control: pfc. %s",
				exclusive)
		default:
			p.Priorities[priority].read(v)
		}
	})
}

func (o *Override) read(v value) {
	v.read(
		field{"alpha", setOptional(&o.Alpha, alpha)},
		field{"headroom", func(v value) {
			o.Headroom = new(Headroom)
			o.Headroom.read(v)
		}},
		field{"private", setOptional(&o.Private, size(0, maxSize))},
		field{"xon", setOptional(&o.Xon, size(0, maxSize))},
		field{"xon_offset", setOptional(&o.XonOffset, size(0, maxSize))},
		field{"xoff", setOptional(&o.Xoff, size(1, maxSize))},
	)
}

// empty reports whether nothing is set.
func (o Override) empty() bool { return o == Override{} }

// pick returns *own if set, else otherwise.
func pick[T any](own *T, otherwise T) T {
	if own != nil {
		return *own
	}
	return otherwise
}
