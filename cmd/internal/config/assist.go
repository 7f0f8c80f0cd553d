package config

import "time"

// An Assist configures the programs that help from inside the kernel. It is comparable.
type Assist struct {
	Off    bool          // the other values are the defaults
	Freeze time.Duration // how long a lossless frame waits unread before the program holds the peer
	Hold   time.Duration // and how long before the program stops doing so
}

func defaultAssist() Assist { return Assist{Freeze: 5 * time.Millisecond, Hold: 5 * time.Second} }

func (a *Assist) read(v value) {
	if a.Off = v.is("off"); a.Off || v.is("auto") {
		return
	}
	if word, single := scalar(v.node); single {
		v.fail("%q is unknown: write auto, off, or {freeze: 5ms, hold: 5s}", word)
		return
	}
	v.read(a.fields()...)
}

func (a *Assist) fields() []field {
	return []field{
		key("freeze", &a.Freeze, duration(time.Millisecond, 100*time.Millisecond)),
		key("hold", &a.Hold, duration(100*time.Millisecond, time.Minute)),
	}
}

func (a *Assist) write() writer {
	if a.Off {
		return literal("off")
	}
	return nested{flow, a.fields()}
}
