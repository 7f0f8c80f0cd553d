package dcbx

import "pfcswitch/lldp"

// A Version is a version of DCBX.
type Version uint8

// The versions.
const (
	VersionNone Version = iota
	VersionIEEE
	VersionCEE // Intel 1.01
	VersionCIN // Intel 1.0
)

var versionNames = [...]string{"off", "ieee", "cee", "cin"}

// String returns the version as the configuration writes it.
func (v Version) String() string {
	if int(v) < len(versionNames) {
		return versionNames[v]
	}
	return "?"
}

// subtype returns the subtype of the TLV of an older version.
func (v Version) subtype() uint8 {
	if v == VersionCIN {
		return 1
	}
	return 2
}

func (v Version) legacy() bool { return v == VersionCEE || v == VersionCIN }

// A Mode says which version is spoken: one, none, or with ModeAuto IEEE unless the peer speaks only an older one.
type Mode uint8

// The modes.
const (
	ModeOff  = Mode(VersionNone)
	ModeIEEE = Mode(VersionIEEE)
	ModeCEE  = Mode(VersionCEE)
	ModeCIN  = Mode(VersionCIN)
	ModeAuto = Mode(VersionCIN + 1)
)

// initialVersion returns the version with which a mode begins.
func (m Mode) initialVersion() Version {
	if m == ModeAuto {
		return VersionIEEE
	}
	return Version(m)
}

// allows reports whether a mode allows the version that is spoken with a peer.
func (m Mode) allows(v Version) bool { return m == ModeAuto || m == Mode(v) }

// detect returns the version to speak with a peer that announces list, where this end speaks v. An end never speaks two
// versions at once, and answers a peer that does in the newest one.
func (m Mode) detect(v Version, list []lldp.Organization) Version {
	if m != ModeAuto {
		return m.initialVersion()
	}
	for _, spoken := range Versions(list) {
		return spoken
	}
	return v // the peer announces nothing yet
}

// Versions lists the versions that the TLVs of an LLDPDU belong to, the newest one first.
func Versions(list []lldp.Organization) []Version {
	var spoken [VersionCIN + 1]bool
	for _, o := range list {
		switch {
		case o.OUI == ouiIEEE && o.Subtype >= subtypeETS && o.Subtype <= subtypeApplication:
			spoken[VersionIEEE] = true
		case o.OUI == ouiIntel && o.Subtype == VersionCEE.subtype():
			spoken[VersionCEE] = true
		case o.OUI == ouiIntel && o.Subtype == VersionCIN.subtype():
			spoken[VersionCIN] = true
		}
	}
	var all []Version
	for v, yes := range spoken {
		if yes {
			all = append(all, Version(v))
		}
	}
	return all
}
