package port

import (
	"errors"
	"slices"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// Flow control that stays on is an error, whatever the driver answers. A NIC that has none is none.
func TestWhatRemainsOfFlowControl(t *testing.T) {
	for _, tt := range []struct {
		attempt error
		on      bool
		want    error
	}{
		{nil, false, nil}, {nil, true, errStaysOn},
		{unix.EOPNOTSUPP, false, nil}, {unix.EINVAL, false, nil}, {unix.ENODEV, false, nil},
		{unix.EOPNOTSUPP, true, unix.EOPNOTSUPP}, {unix.EINVAL, true, unix.EINVAL},
		{unix.EPERM, false, unix.EPERM}, {unix.EIO, true, unix.EIO},
	} {
		assert.Equal(t, remains(tt.attempt, tt.on), tt.want, "after %v, on %v", tt.attempt, tt.on)
	}
}

// PAUSE is switched off with its negotiation, or without where the driver does not change that.
func TestSwitchOffPause(t *testing.T) {
	on, negotiated := HardwarePause{Receive: true, Transmit: true}, HardwarePause{Autoneg: true, Receive: true}
	for _, tt := range []struct {
		name  string
		is    *HardwarePause // nil: the driver does not tell
		off   func(is *HardwarePause, autoneg bool) error
		tried []bool // autoneg of each attempt
		want  error
	}{
		{"has none", nil, func(*HardwarePause, bool) error { return unix.EOPNOTSUPP }, []bool{false}, nil},
		{"obeys", &negotiated, func(is *HardwarePause, autoneg bool) error {
			*is = HardwarePause{Autoneg: autoneg}
			return nil
		}, []bool{false}, nil},
		{"does not change the negotiation", &negotiated, func(is *HardwarePause, autoneg bool) error {
			if autoneg != is.Autoneg {
				return unix.EOPNOTSUPP
			}
			is.Receive = false
			return nil
		}, []bool{false, true}, nil},
		{"refuses all", &negotiated, func(*HardwarePause, bool) error { return unix.EOPNOTSUPP },
			[]bool{false, true}, unix.EOPNOTSUPP},
		{"refuses, and negotiates nothing", &on, func(*HardwarePause, bool) error { return unix.EINVAL },
			[]bool{false}, unix.EINVAL},
		{"keeps one direction on", &on, func(is *HardwarePause, _ bool) error {
			is.Receive = false
			return nil
		}, []bool{false}, errStaysOn},
		{"fails", &HardwarePause{}, func(*HardwarePause, bool) error { return unix.EIO }, []bool{false}, unix.EIO},
	} {
		var is *HardwarePause
		if tt.is != nil {
			is = &HardwarePause{tt.is.Autoneg, tt.is.Receive, tt.is.Transmit}
		}
		var tried []bool
		err := switchOffPause(func(autoneg bool) error {
			tried = append(tried, autoneg)
			return tt.off(is, autoneg)
		}, func() *HardwarePause {
			if is == nil {
				return nil
			}
			now := *is
			return &now
		})
		assert.True(t, errors.Is(err, tt.want) && slices.Equal(tried, tt.tried),
			"a driver that %s: %v after attempts %v, want %v after %v", tt.name, err, tried, tt.want, tt.tried)
	}
}

// The driver's error and its PFC are read from the kernel's answers as linux/dcbnl.h has them.
func TestAnswersOfDCB(t *testing.T) {
	pfc := make([]byte, ieeePFCStructSz)
	pfc[0], pfc[1] = 8, 0x18
	ieee := nl.NewRtAttr(dcbAttrIEEE, nil)
	ieee.AddRtAttr(1, make([]byte, 3)) // ETS
	ieee.AddRtAttr(dcbAttrIEEEPFC, pfc)
	answer := append(nl.NewRtAttr(dcbAttrIfname, nl.ZeroTerminated("eth0")).Serialize(), ieee.Serialize()...)
	got := ieeePFC(attribute(answer, dcbAttrIEEE))
	assert.True(t, got == 0x18, "PFC %#x, want 0x18", got)
	got = ieeePFC(attribute(answer[:len(answer)-len(pfc)], dcbAttrIEEE))
	assert.True(t, got == 0, "PFC %#x of half an answer", got)
	for octet, want := range map[uint8]error{0: nil, 0xA1: unix.EOPNOTSUPP, 0xEA: unix.EINVAL, 0xFB: unix.EIO} {
		answer := nl.NewRtAttr(dcbAttrIEEE, []byte{octet}).Serialize()
		assert.Equal(t, ieeeError(attribute(answer, dcbAttrIEEE)), want, "error in %#x", octet)
	}
	if got := ieeeError(attribute(nil, dcbAttrIEEE)); got != nil {
		t.Errorf("error %v in an empty answer", got)
	}
}
