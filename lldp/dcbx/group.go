package dcbx

// Priority groups are what ETS is in CEE and CIN.
const (
	strictGroup = 15 // CEE: served before all others

	cinStrictGroup = 1 // strict within its group
	cinStrictLink  = 2
)

// groupLength is the length of the data of the priority group feature.
func groupLength(v Version) int {
	if v == VersionCIN {
		return 24
	}
	return 13
}

// groupData writes the data of the priority group feature: group n is priority n.
func (q Queues) groupData(v Version) string {
	if v == VersionCIN {
		return q.groupDataCIN()
	}
	return q.groupDataCEE()
}

// groupDataCEE writes
//
//	4 octets: group of priority 0 to 7, 4 bits each
//	8 octets: percent of group 0 to 7
//	1 octet:  number of traffic classes
func (q Queues) groupDataCEE() string {
	var b []byte
	group := func(p int) byte {
		if q[p].Strict {
			return strictGroup
		}
		return byte(p)
	}
	for p := 0; p < 8; p += 2 {
		b = append(b, group(p)<<4|group(p+1))
	}
	shares := q.percents()
	return string(append(append(b, shares[:]...), 8))
}

// groupDataCIN writes
//
//	8 octets: percent of group 0 to 7
//	of each priority:
//	  3 bits:  group
//	  2 bits:  1 strict in its group, 2 strict on the link
//	  3 bits:  0
//	  1 octet: percent of the group
func (q Queues) groupDataCIN() string {
	shares := q.percents()
	b := append([]byte(nil), shares[:]...)
	for p, queue := range q {
		b = append(b, byte(p)<<5|flag(queue.Strict, cinStrictLink<<3), 100)
	}
	return string(b)
}

// parseGroups returns the queues that the data of a priority group feature asks for. It is false where the percentages
// do not add up to 100.
func parseGroups(v Version, data string) (Queues, bool) {
	if len(data) != groupLength(v) {
		return Queues{}, false
	}
	if v == VersionCIN {
		return parseGroupsCIN(data)
	}
	return parseGroupsCEE(data)
}

func parseGroupsCEE(data string) (q Queues, ok bool) {
	var members [16]int
	group := func(p int) byte { return data[p/2] >> (4 * (1 - p%2)) & 0xF }
	for p := range q {
		members[group(p)]++
	}
	sum := 0
	for g := range 8 {
		sum += int(data[4+g])
	}
	for p := range q {
		switch g := group(p); {
		case g == strictGroup:
			q[p] = Queue{Strict: true}
		case g > 7 || sum != 100:
			return Queues{}, false
		default:
			q[p] = share(data[4+g], members[g])
		}
	}
	return q, true
}

func parseGroupsCIN(data string) (q Queues, ok bool) {
	sum := 0
	for g := range 8 {
		sum += int(data[g])
	}
	for p := range q {
		class, percent := data[8+2*p], data[9+2*p]
		switch {
		case class>>3&3 == cinStrictLink:
			q[p] = Queue{Strict: true}
		case sum != 100 || percent > 100:
			return Queues{}, false
		default:
			q[p] = Queue{Weight: max(1, int(data[class>>5])*int(percent)*weightScale/100)}
		}
	}
	return q, true
}
