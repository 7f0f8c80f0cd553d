package port

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Constants of linux/dcbnl.h, which no library carries.
const (
	rtmSetDCB       = 79
	dcbCmdIEEESet   = 20
	dcbAttrIfname   = 1
	dcbAttrIEEE     = 13
	dcbAttrIEEEPFC  = 2
	ieeePFCStructSz = 136 // struct ieee_pfc: cap, en, mbc, delay, requests[8], indications[8]
)

// disableHardwarePause switches off 802.3x PAUSE and PFC in a physical NIC, which would otherwise obey and swallow the
// frames that this switch must see. It ignores a NIC that has neither.
func disableHardwarePause(name string) error {
	off := pauseParam{cmd: unix.ETHTOOL_SPAUSEPARAM}
	if err := ethtool(name, unsafe.Pointer(&off)); err != nil && !unsupported(err) {
		return fmt.Errorf("switch off hardware PAUSE of %s: %w (by hand: ethtool -A %s autoneg off rx off tx off)",
			name, err, name)
	}
	if err := clearIEEEPFC(name); err != nil && !unsupported(err) {
		return fmt.Errorf("switch off hardware PFC of %s: %w (by hand: dcb pfc set dev %s prio-pfc all:off)", name, err,
			name)
	}
	return nil
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENODEV)
}

// pauseParam is struct ethtool_pauseparam of linux/ethtool.h.
type pauseParam struct{ cmd, autoneg, rx, tx uint32 }

// ethtoolCmd is struct ethtool_cmd of linux/ethtool.h, 44 octets, all of which the kernel writes.
type ethtoolCmd struct {
	cmd, supported, advertising uint32
	speed                       uint16
	_                           [14]byte // duplex to maxrxpkt
	speedHigh                   uint16
	_                           [14]byte
}

// nicSpeed returns the link's speed in bit/s (ETHTOOL_GSET), or 0 if the driver reports none.
func nicSpeed(name string) int64 {
	cmd := ethtoolCmd{cmd: unix.ETHTOOL_GSET}
	if err := ethtool(name, unsafe.Pointer(&cmd)); err != nil {
		return 0
	}
	mbps := uint32(cmd.speedHigh)<<16 | uint32(cmd.speed)
	if mbps == 0 || mbps == 0xffffffff || mbps == 0xffff {
		return 0
	}
	return int64(mbps) * 1e6
}

func ethtool(name string, data unsafe.Pointer) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var req struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	req.data = data
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL,
		uintptr(unsafe.Pointer(&req))); errno != 0 {
		return errno
	}
	return nil
}

// dcbMsg is struct dcbmsg of linux/dcbnl.h.
type dcbMsg struct{ family, cmd uint8 }

func (m dcbMsg) Len() int          { return 4 }
func (m dcbMsg) Serialize() []byte { return []byte{m.family, m.cmd, 0, 0} }

// clearIEEEPFC sets an empty PFC enable vector through the kernel's DCB interface.
func clearIEEEPFC(name string) error {
	req := nl.NewNetlinkRequest(rtmSetDCB, unix.NLM_F_ACK)
	req.AddData(dcbMsg{cmd: dcbCmdIEEESet})
	req.AddData(nl.NewRtAttr(dcbAttrIfname, nl.ZeroTerminated(name)))
	ieee := nl.NewRtAttr(dcbAttrIEEE|unix.NLA_F_NESTED, nil)
	ieee.AddRtAttr(dcbAttrIEEEPFC, make([]byte, ieeePFCStructSz))
	req.AddData(ieee)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}
