package dcbx

// Priority groups are what ETS is in CEE.
const (
	strictGroup = 15 // served before all others
	groupLength = 13
)

// groupData writes the data of the priority group feature: group n is priority n.
//
//	4 octets: group of priority 0 to 7, 4 bits each
//	8 octets: percent of group 0 to 7
//	1 octet:  number of traffic classes
func (q Queues) groupData() string {
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

// parseGroups returns the queues that the data of a priority group feature asks for. It is false where the percentages
// do not add up to 100.
func parseGroups(data string) (q Queues, ok bool) {
	if len(data) != groupLength {
		return q, false
	}
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
