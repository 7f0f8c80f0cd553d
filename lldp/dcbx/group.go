package dcbx

// Priority groups are what ETS is in CEE and CIN.
const (
	strictGroup    = 15 // of CEE: served before all others
	groupLength    = 13
	groupLengthCIN = 24
)

// groupsOf returns the data of the priority group feature in a version.
func (q Queues) groupsOf(v Version) string {
	if v == VersionCIN {
		return q.groupDataCIN()
	}
	return q.groupData()
}

// parseGroupsOf returns the queues that the data of a priority group feature asks for.
func parseGroupsOf(v Version, data string) (Queues, bool) {
	if v == VersionCIN {
		return parseGroupsCIN(data)
	}
	return parseGroups(data)
}

// groupData returns the data of the priority group feature of CEE: group n is priority n.
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

// parseGroups returns the queues that the data of a priority group feature of CEE asks for, false where the percentages
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

// How a priority of CIN is served.
const (
	strictShift  = 3
	strictMask   = 3
	strictOfLink = 2 // before all groups; 1 is before the others of its group
)

// groupDataCIN returns the data of the priority group feature of CIN: bandwidth group n is priority n.
//
//	8 octets: percent of bandwidth group 0 to 7
//	for each priority:
//	3 bits:   its group
//	2 bits:   0, 1: strict in the group, 2: strict on the link
//	3 bits:   0
//	1 octet:  percent of the group
func (q Queues) groupDataCIN() string {
	shares := q.percents()
	b := shares[:]
	for p, queue := range q {
		if queue.Strict {
			b = append(b, byte(p)<<5|strictOfLink<<strictShift, 0)
		} else {
			b = append(b, byte(p)<<5, 100)
		}
	}
	return string(b)
}

// parseGroupsCIN returns the queues that the data of a priority group feature of CIN asks for. It is false where the
// percentages of the link, or of a group, do not add up to 100.
func parseGroupsCIN(data string) (q Queues, ok bool) {
	if len(data) != groupLengthCIN {
		return q, false
	}
	sum := 0
	var inGroup [8]int
	var used [8]bool
	for p := range q {
		sum += int(data[p])
		first, percent := data[8+2*p], data[9+2*p]
		g := first >> 5
		if first>>strictShift&strictMask == strictOfLink {
			q[p] = Queue{Strict: true}
			continue
		}
		used[g] = true
		inGroup[g] += int(percent)
		q[p] = Queue{Weight: max(1, int(data[g])*weightScale*int(percent)/100)}
	}
	for g, n := range inGroup {
		if used[g] && (n != 100 || sum != 100) {
			return Queues{}, false
		}
	}
	return q, true
}
