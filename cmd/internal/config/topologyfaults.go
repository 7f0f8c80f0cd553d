package config

import "time"

// LabFault is something that goes wrong: one of Storm, Slow and Flap.
//
//	faults:
//	  storm: {storm: h4, start: 1ms, duration: 5ms}                    # it sends XOFF, again and again
//	  tired: {slow: h2, rate: 10G}                                     # it takes no more, and holds its peer
//	  loose: {flap: l1, start: 2ms, duration: 100us, every: 1ms}       # the link is down, again and again
type LabFault struct {
	Name        string
	Storm, Slow string        // a host
	Flap        string        // a link
	Rate        int64         // bit/s on the wire, of Slow
	Start       time.Duration // since the traffic began
	Duration    time.Duration // 0: to the end
	Every       time.Duration // from one begin to the next; 0: once
}

func (r *labReader) readFaults(v value) {
	v.each(nameForm, "x1", func(name string, v value) {
		if !identifier(name, 32) {
			v.fail("%q cannot name a fault: "+nameRule, name)
			return
		}
		f := LabFault{Name: name}
		v.read(
			key("storm", &f.Storm, nodeName),
			key("slow", &f.Slow, nodeName),
			key("flap", &f.Flap, nodeName),
			key("rate", &f.Rate, rate(1000)),
			key("start", &f.Start, duration(0, maxLabTime)),
			key("duration", &f.Duration, duration(1, maxLabTime)),
			key("every", &f.Every, duration(1, maxLabTime)),
		)
		r.lab.Faults = append(r.lab.Faults, f)
	})
}

func (r *labReader) checkFaults(hosts map[string]*LabHost) {
	links := map[string]bool{}
	for i := range r.lab.Links {
		links[r.lab.Links[i].Name] = true
	}
	for i := range r.lab.Faults {
		f := &r.lab.Faults[i]
		fail := func(key, format string, args ...any) { r.doc.failKey("faults."+f.Name+key, format, args...) }
		kinds := 0
		for _, k := range []struct{ key, host string }{{".storm", f.Storm}, {".slow", f.Slow}} {
			if k.host == "" {
				continue
			}
			if kinds++; hosts[k.host] == nil || r.wired[k.host] == nil {
				fail(k.key, "%q is no host with a link: correct the name", k.host)
			}
		}
		if f.Flap != "" {
			if kinds++; !links[f.Flap] {
				fail(".flap", "%q is no link: correct the name", f.Flap)
			}
		}
		switch {
		case kinds != 1:
			fail("", "want one of storm: HOST, slow: HOST and flap: LINK")
		case (f.Slow != "") != (f.Rate > 0):
			fail("", "slow and rate go together: write both, such as slow: h1, rate: 1G")
		case f.Every > 0 && (f.Duration == 0 || f.Every <= f.Duration):
			fail(".every", "comes again before it has ended: write a duration that is shorter")
		}
	}
}
