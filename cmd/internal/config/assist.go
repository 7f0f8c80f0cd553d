package config

import "time"

// An Assist configures the eBPF programs that help from inside the kernel. It is comparable.
type Assist struct {
	Off    bool
	Freeze time.Duration // how long a lossless frame waits unread before the program holds the peer
	Hold   time.Duration // and how long before the program stops doing so
}

func defaultAssist() Assist { return Assist{Freeze: 5 * time.Millisecond, Hold: 5 * time.Second} }

func (a *Assist) read(v value) {
	switch {
	case v.is("off"):
		a.Off = true
	case v.is("auto"):
		*a = defaultAssist()
	default:
		v.read(a.fields()...)
	}
}

func (a *Assist) fields() []field {
	return []field{
		key("freeze", &a.Freeze, duration(time.Millisecond, time.Second)),
		key("hold", &a.Hold, duration(100*time.Millisecond, time.Minute)),
	}
}

func (a *Assist) write() string {
	if a.Off {
		return "off"
	}
	return flow(a.fields())
}
