package trunk

// A Distributor chooses the member by which a frame of the uplink leaves.
type Distributor struct {
	// ByFlow sends all frames of a flow by one member. Without it a frame goes to the member that holds least.
	ByFlow bool
	next   int // member that wins the next tie
}

// Choose returns the member among those that are up (bit n = member n) that the next frame goes to, -1 where none is up.
// held is what each member's area holds, in octets; flow is the number of the frame's flow, by which the members are
// weighed where ByFlow is set. Nothing changes until Chosen.
func (d *Distributor) Choose(held []int64, up uint64, flow uint64) int {
	if d.ByFlow {
		return rendezvous(len(held), up, flow)
	}
	best := -1
	for i := range held {
		member := d.next + i
		if member >= len(held) {
			member -= len(held)
		}
		if up>>member&1 == 1 && (best < 0 || held[member] < held[best]) {
			best = member
		}
	}
	return best
}

// Chosen says that a frame went to a member: among members that hold equally much it is the next one's turn.
func (d *Distributor) Chosen(member, members int) { d.next = (member + 1) % members }

// rendezvous weighs every member against the flow and takes the heaviest (Thaler and Ravishankar, "Using Name-Based Mappings
// to Increase Hit Rates", 1998): where a member goes down only its own flows move, and they come back with it.
func rendezvous(members int, up uint64, flow uint64) int {
	best, heaviest := -1, uint64(0)
	for member := range members {
		if up>>member&1 == 0 {
			continue
		}
		if weight := mix(flow ^ uint64(member+1)*0x9E3779B97F4A7C15); best < 0 || weight > heaviest {
			best, heaviest = member, weight
		}
	}
	return best
}

// mix is the finaliser of splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
