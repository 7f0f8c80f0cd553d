package macctl

import "testing"

func TestInitiatorConfigure(t *testing.T) {
	var (
		free3  = pfcHeader + "0008" + padding(16+26)
		pause9 = group + own + "8808 0001 0009" + padding(42)
		resume = group + own + "8808 0001 0000" + padding(42)
	)
	base := InitiatorConfig{Mode: ModePFC, Enabled: 0x18, Speed: 10 * giga, Source: port, WakeDelay: 100_000}
	with := func(change func(*InitiatorConfig)) InitiatorConfig {
		c := base
		change(&c)
		return c
	}
	start := func(t *testing.T) sender {
		s := newSender(t, nil)
		s.Hold(3, CauseBuffer)
		s.sends(0, hold3)
		return s
	}

	t.Run("same", func(t *testing.T) {
		s := start(t)
		s.Configure(base, 1000)
		s.state(0x08, 0x08, halfPause)
	})
	t.Run("priority no longer enabled", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Enabled = 0x10 }), 1000)
		s.state(0, 0x08, MinRefresh)
		s.sends(1000, free34) // 3 is still named
		s.Hold(4, CauseBuffer)
		s.sends(2000, pfcHeader+"0010 0000 0000 0000 0000 ffff"+padding(6+26))
	})
	t.Run("priority enabled again while held", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Enabled = 0 }), 1000)
		s.sends(1000, free3)
		s.Configure(base, 2000)
		s.sends(2000, hold3)
	})
	t.Run("shorter refresh", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.WakeDelay = 500_000 }), 1000)
		s.sends(1000, "")
		s.state(0x08, 0x08, MinRefresh)
		s.sends(MinRefresh, hold3)
		s.state(0x08, 0x08, MinRefresh+fullPause-2_000_000)
	})
	t.Run("refresh is not put off", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Quanta = 0x9999 }), halfPause+1000)
		s.state(0x08, 0x08, halfPause)
	})
	t.Run("new address", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Source[5] = 0xCC }), 1000)
		s.Release(3, CauseBuffer)
		s.sends(1000, group+"0200000000cc 8808 0101 0018"+padding(16+26))
	})
	t.Run("to pause", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Mode, c.Quanta = ModePause, 9 }), 1000)
		s.Hold(0, CauseBuffer)
		s.offers(1000, free3) // XON in the old mode first, even if it cannot be sent at once
		s.sends(1100, free3)
		s.sends(1100, pause9)
		s.Release(3, CauseBuffer)
		s.sends(1200, resume)
	})
	t.Run("to pause and back to pfc with all eight", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Mode, c.Quanta = ModePause, 9 }), 1000)
		s.Hold(0, CauseBuffer)
		s.sends(1000, free3)
		s.sends(1000, pause9)
		s.Configure(with(func(c *InitiatorConfig) { c.Enabled = 0xFF }), 2000)
		for prio := range uint8(8) {
			s.Hold(prio, CauseBuffer)
		}
		s.sends(2000, resume) // although 0xFF is told and wanted
		s.sends(2000, pfcHeader+"00ff ffff ffff ffff ffff ffff ffff ffff ffff"+padding(26))
	})
	t.Run("off", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Mode = ModeOff }), 1000)
		s.sends(1000, free3)
		s.state(0, 0, never)
	})
	t.Run("holds are gone after a change of mode", func(t *testing.T) {
		s := start(t)
		s.Configure(with(func(c *InitiatorConfig) { c.Mode = ModeOff }), 1000)
		s.Configure(base, 2000)
		s.state(0, 0x08, MinRefresh)
		s.sends(2000, free34)
	})
	t.Run("while sending", func(t *testing.T) {
		s := start(t)
		s.Hold(4, CauseBuffer)
		s.offers(1000, hold34)
		s.Configure(with(func(c *InitiatorConfig) { c.Mode, c.Quanta = ModePause, 9 }), 1000)
		s.Sent(1000)
		s.sends(2000, free34)
		s.state(0, 0, never)
	})
}
