package daemon

import (
	"log/slog"
	"testing"

	"pfcswitch/cmd/internal/acceptance"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	acceptance.Main(m, func(c *config.Config, log *slog.Logger) (acceptance.Switch, error) { return New(c, log) })
}

// A rig is that of the acceptance tests, with a Daemon of which the tests know more.
type rig struct{ *acceptance.Rig }

func newRig(t *testing.T, hosts int, o lab.LinkOptions) *rig {
	return &rig{acceptance.NewRig(t, hosts, o)}
}

// d is the switch in this process.
func (r *rig) d() *Daemon { return r.Switch.(*Daemon) }

func run(t *testing.T, c *config.Config) (d *Daemon, halt func()) {
	t.Helper()
	s, halt := acceptance.Run(t, c)
	return s.(*Daemon), halt
}

type (
	Setup   = acceptance.Setup
	Station = acceptance.Station
	Stream  = acceptance.Stream
)

const (
	At100M       = acceptance.At100M
	NumberedType = acceptance.NumberedType
	StationSlots = acceptance.StationSlots
	SmallBuffers = acceptance.SmallBuffers
	Timeout      = acceptance.Timeout
)

var (
	must, eventually = labtest.Must, labtest.Eventually

	HostMAC, PortMAC, PortName = acceptance.HostMAC, acceptance.PortMAC, acceptance.PortName
	IP, Tagged, Ethernet       = acceptance.IP, acceptance.Tagged, acceptance.Ethernet
	Together, NewStation       = acceptance.Together, acceptance.NewStation
	GSOFrames, IPv4UDP         = acceptance.GSOFrames, acceptance.IPv4UDP
	OneRing, HeadroomOf, NICUp = acceptance.OneRing, acceptance.HeadroomOf, acceptance.NICUp
)
