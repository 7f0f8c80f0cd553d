package config

// Priorities configures how a frame gets its priority, and which priorities are lossless.
type Priorities struct {
	Trust    Trust     // of ports that say nothing else
	Default  uint8     // likewise: the priority of a frame that carries none
	Lossless uint8     // bit n: priority n
	DSCP     [64]uint8 // priority by DSCP
}

// Trust is the source of a frame's priority.
type Trust string

// The values of trust.
const (
	TrustPCP  Trust = "pcp"  // the VLAN tag
	TrustDSCP Trust = "dscp" // the IP header
	TrustPort Trust = "port" // the port's default priority, whatever the frame says
)

var (
	priorityNumber = number[uint8]("priority", 0, 7)
	trust          = oneOf(TrustPCP, TrustDSCP, TrustPort)
)

// defaultPriorities has no lossless priority; a DSCP has the priority of its class selector.
func defaultPriorities() Priorities {
	p := Priorities{Trust: TrustPCP}
	for dscp := range p.DSCP {
		p.DSCP[dscp] = uint8(dscp >> 3)
	}
	return p
}

func (p *Priorities) read(v value) {
	v.read(
		field{"trust", set(&p.Trust, trust)},
		field{"default", set(&p.Default, priorityNumber)},
		field{"lossless", p.readLossless},
		field{"dscp", func(v value) {
			v.indexed("DSCP", 63, func(dscp int, v value) { set(&p.DSCP[dscp], priorityNumber)(v) })
		}},
	)
}

func (p *Priorities) readLossless(v value) {
	p.Lossless = 0
	for _, item := range v.items() {
		var priority uint8
		set(&priority, priorityNumber)(item)
		p.Lossless |= 1 << priority
	}
}

// IsLossless reports whether a priority (0 to 7) is lossless.
func (p Priorities) IsLossless(priority int) bool { return p.Lossless>>priority&1 == 1 }
