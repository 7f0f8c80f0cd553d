package port

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of linux/ethtool.h: the set of names of features (ETH_SS_FEATURES), and the octets of a name in it (ETH_GSTRING_LEN).
const (
	featureNames = 4
	featureName  = 32
)

// features are those offloads that have no command of their own.
var features = map[string]bool{"rx-gro-list": true, "rx-udp-gro-forwarding": true}

// readFeatures adds them to the offloads of an interface. A kernel that does not know one does not name it.
func readFeatures(name string, on map[string]bool) {
	info := struct {
		cmd, _ uint32
		sets   uint64
		count  uint32
	}{cmd: unix.ETHTOOL_GSSET_INFO, sets: 1 << featureNames}
	if ethtool(name, unsafe.Pointer(&info)) != nil || info.count == 0 {
		return
	}
	count, words := info.count, (info.count+31)/32
	names := make([]uint32, 3+count*featureName/4) // struct ethtool_gstrings
	names[0], names[1], names[2] = unix.ETHTOOL_GSTRINGS, featureNames, count
	blocks := make([]uint32, 2+4*words) // struct ethtool_gfeatures: of each word what is available, requested, active, and never changes
	blocks[0], blocks[1] = unix.ETHTOOL_GFEATURES, words
	if ethtool(name, unsafe.Pointer(&names[0])) != nil || ethtool(name, unsafe.Pointer(&blocks[0])) != nil {
		return
	}
	text := unsafe.Slice((*byte)(unsafe.Pointer(&names[3])), count*featureName)
	for i := range count {
		if feature := unix.ByteSliceToString(text[i*featureName : (i+1)*featureName]); features[feature] {
			on[feature] = blocks[2+4*(i/32)+2]>>(i%32)&1 != 0
		}
	}
}
