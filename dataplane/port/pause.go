package port

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Constants of linux/dcbnl.h, which no library carries.
const (
	rtmGetDCB       = 78
	rtmSetDCB       = 79
	dcbCmdIEEESet   = 20
	dcbCmdIEEEGet   = 21
	dcbAttrIfname   = 1
	dcbAttrIEEE     = 13 // of what is set and read; in the answer to what is set, a driver's error in one octet
	dcbAttrIEEEPFC  = 2
	dcbMsgSz        = 4   // struct dcbmsg
	ieeePFCStructSz = 136 // struct ieee_pfc: cap, en, mbc, delay, requests[8], indications[8]
)

// disableHardwarePause switches off 802.3x PAUSE and PFC in a physical NIC, which would otherwise obey and swallow the
// frames that this switch must see. It ignores a NIC that has neither. PFC is the first: some drivers change no PAUSE
// while it is on.
func disableHardwarePause(name string) error {
	if err := remains(clearIEEEPFC(name), readIEEEPFC(name) != 0); err != nil {
		return fmt.Errorf("switch off hardware PFC of %s: %w (by hand: dcb pfc set dev %s prio-pfc all:off)", name, err,
			name)
	}
	err := switchOffPause(func(autoneg bool) error {
		off := pauseParam{cmd: unix.ETHTOOL_SPAUSEPARAM}
		if autoneg {
			off.autoneg = 1
		}
		return ethtool(name, unsafe.Pointer(&off))
	}, func() *HardwarePause { return readPause(name) })
	if err != nil {
		return fmt.Errorf("switch off hardware PAUSE of %s: %w (by hand: ethtool -A %s autoneg off rx off tx off)",
			name, err, name)
	}
	return nil
}

// switchOffPause switches off PAUSE, and its negotiation where the driver lets it.
func switchOffPause(off func(autoneg bool) error, read func() *HardwarePause) error {
	was := read()
	err := off(false)
	if unsupported(err) && was != nil && was.Autoneg {
		err = off(true)
	}
	is := read()
	return remains(err, is != nil && (is.Receive || is.Transmit))
}

var errStaysOn = errors.New("the driver reports no error, but it is on still")

// remains returns why flow control is not off after an attempt to switch it off; on is what the driver tells of it by
// then. A driver that cannot switch off what is off, or what it tells nothing of, has none.
func remains(attempt error, on bool) error {
	switch {
	case attempt == nil && on:
		return errStaysOn
	case !on && unsupported(attempt):
		return nil
	}
	return attempt
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
	ieee := nl.NewRtAttr(dcbAttrIEEE|unix.NLA_F_NESTED, nil)
	ieee.AddRtAttr(dcbAttrIEEEPFC, make([]byte, ieeePFCStructSz))
	answer, err := askDCB(rtmSetDCB, dcbCmdIEEESet, name, ieee)
	if err != nil {
		return err
	}
	return ieeeError(answer)
}

// readIEEEPFC returns the PFC enable vector, 0 where the driver does not tell it.
func readIEEEPFC(name string) uint8 {
	answer, err := askDCB(rtmGetDCB, dcbCmdIEEEGet, name)
	if err != nil {
		return 0
	}
	return ieeePFC(answer)
}

// askDCB returns the attribute dcbAttrIEEE of the answer, nil where it has none.
func askDCB(kind int, cmd uint8, name string, attributes ...nl.NetlinkRequestData) ([]byte, error) {
	req := nl.NewNetlinkRequest(kind, unix.NLM_F_ACK)
	req.AddData(dcbMsg{cmd: cmd})
	req.AddData(nl.NewRtAttr(dcbAttrIfname, nl.ZeroTerminated(name)))
	for _, a := range attributes {
		req.AddData(a)
	}
	answers, err := req.Execute(unix.NETLINK_ROUTE, 0) // the answer comes before the acknowledgement
	if err != nil || len(answers) == 0 || len(answers[0]) < dcbMsgSz {
		return nil, err
	}
	return attribute(answers[0][dcbMsgSz:], dcbAttrIEEE), nil
}

// attribute returns the value of an attribute, nil where there is none.
func attribute(b []byte, kind uint16) []byte {
	all, _ := attributes(b)
	for _, a := range all {
		if a.Attr.Type&nl.NLA_TYPE_MASK == kind {
			return a.Value
		}
	}
	return nil
}

// attributes reads attributes, each padded to four octets: nl.ParseRouteAttr reads past the end of others.
func attributes(b []byte) ([]syscall.NetlinkRouteAttr, error) {
	return nl.ParseRouteAttr(b[:len(b)&^(unix.RTA_ALIGNTO-1)])
}

// ieeeError is the driver's error in the answer to what was set: the lowest octet of the negative number.
func ieeeError(ieee []byte) error {
	if len(ieee) == 0 || ieee[0] == 0 {
		return nil
	}
	return unix.Errno(-ieee[0])
}

// ieeePFC is the PFC enable vector in the answer to what was read.
func ieeePFC(ieee []byte) uint8 {
	if pfc := attribute(ieee, dcbAttrIEEEPFC); len(pfc) > 1 {
		return pfc[1]
	}
	return 0
}
