package sonic

import (
	"slices"
	"strconv"
	"strings"
)

// readVLANs reads the members of VLANs. A port that has no VLAN untagged accepts tagged frames alone, and gets a PVID
// that no other port has.
func (im *importer) readVLANs() {
	numbers := im.readNumbers()
	untagged, tagged := map[string]*row{}, map[string][]string{}
	members := map[string][]string{}
	for _, r := range im.db.table("VLAN_MEMBER").rows {
		vlan, name, _ := strings.Cut(r.at.Key, "|")
		id, ok := numbers[vlan]
		if !ok {
			im.fail(r.at, "VLAN has no key %q: add it there", vlan)
			continue
		}
		members[vlan] = append(members[vlan], name)
		p := im.portOf(r, name)
		if p == nil {
			continue
		}
		switch f := r.get("tagging_mode"); {
		case f == nil:
			im.fail(r.at, "has no tagging_mode: write tagged or untagged")
		case f.text == "tagged":
			tagged[name] = append(tagged[name], strconv.Itoa(id))
			im.from["ports."+name+".tagged"] = f.at
		case f.text != "untagged":
			im.fail(f.at, "%q is no tagging mode: write tagged or untagged", f.text)
		case untagged[name] != nil:
			im.fail(f.at, "%s is untagged in %s: make it tagged in one of the two", name, untagged[name].at.Key)
		default:
			untagged[name] = r
			im.set(f.at, strconv.Itoa(id), "ports", name, "pvid")
		}
	}
	for _, p := range im.ports {
		all := tagged[p.name]
		if len(all) == 0 {
			continue
		}
		at := im.from["ports."+p.name+".tagged"]
		im.set(at, list(all), "ports", p.name, "tagged")
		if untagged[p.name] == nil {
			im.set(at, strconv.Itoa(free(numbers)), "ports", p.name, "pvid")
			im.set(at, "tagged", "ports", p.name, "admit")
		}
	}
	im.readMembers(members)
}

// readNumbers returns the VLAN numbers by the keys of VLAN.
func (im *importer) readNumbers() map[string]int {
	numbers := map[string]int{}
	for _, r := range im.db.table("VLAN").rows {
		digits, named := strings.CutPrefix(r.at.Key, "Vlan")
		id, err := strconv.Atoi(digits)
		if !named || err != nil || id < 1 || id > 4094 {
			im.fail(r.at, "the key is not of the form Vlan1 to Vlan4094: correct it")
			continue
		}
		if f := r.get("vlanid"); f != nil && f.text != digits {
			im.fail(f.at, "%q is not the number in the key: make them the same", f.text)
		}
		numbers[r.at.Key] = id
	}
	return numbers
}

// readMembers compares the lists of older files with VLAN_MEMBER, which counts.
func (im *importer) readMembers(members map[string][]string) {
	for _, r := range im.db.table("VLAN").rows {
		if len(members[r.at.Key]) == 0 {
			im.leaveRow(r, "%s", unused("VLAN"))
			continue
		}
		r.read = true
		if f := r.get("members"); f != nil && !slices.Equal(slices.Sorted(slices.Values(f.list)),
			slices.Sorted(slices.Values(members[r.at.Key]))) {
			im.leave(f.at, "VLAN_MEMBER counts")
		}
	}
}

// free returns the highest number that no VLAN has.
func free(numbers map[string]int) int {
	for id := 4094; id > 1; id-- {
		used := false
		for _, n := range numbers {
			used = used || n == id
		}
		if !used {
			return id
		}
	}
	return 1
}
