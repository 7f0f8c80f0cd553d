package traffic

import (
	"net"
	"sync"
	"time"

	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Slots of an endpoint's rings: a sink takes 60 ms at 10 Gbit/s of full frames.
const (
	sinkSlots   = 16384
	senderSlots = 256
)

// open opens the port of an endpoint. Its lossless ring receives the priorities in lossless; xdp asks for an AF_XDP
// socket.
func open(netns, name string, lossless uint8, slots int, xdp bool) (*port.AFPacket, port.Link, error) {
	l, err := port.Inspect(netns, name)
	if err != nil {
		return nil, l, err
	}
	c := classify.Config{Trust: classify.TrustPCP, DSCP: classify.DefaultDSCP()}
	fanout, err := c.Fanout(lossless)
	if err != nil {
		return nil, l, err
	}
	p, err := port.Open(port.Config{Interface: name, Netns: netns, LosslessSlots: slots, OtherSlots: slots,
		FrameSize: l.MTU + frame.HeaderOctets, SmallFrame: classify.SmallFrame, Fanout: fanout, XDP: xdp})
	return p, l, err
}

// newPoller returns a poller for whatever a port receives.
func newPoller(p port.Port) (*port.Poller, error) {
	w, err := port.NewPoller()
	if err == nil {
		w.Watch(p.Descriptors(nil, port.WorkControl|port.WorkOther|port.WorkLossless))
	}
	return w, err
}

// txPathPeriod is the time between two checks of a sender's tx path.
const txPathPeriod = time.Second

// refreshTxPath refreshes the tx path of p until the returned function is called.
func refreshTxPath(p *port.AFPacket) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(txPathPeriod):
				p.RefreshTxPath(new(port.PacketSockets))
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

func macString(a uint64) string {
	var b [6]byte
	frame.PutAddress(b[:], a)
	return net.HardwareAddr(b[:]).String()
}
