package linkcheck

import (
	"fmt"
	"slices"
	"time"

	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// slots of each receive ring: other traffic on the link must not push out the answers.
const slots = 1024

// burst is the number of frames read at once.
const burst = 64

// An Interface is the Wire of a real interface. A switch on the same interface still receives every frame.
type Interface struct {
	link    port.Link
	port    *port.AFPacket
	poller  *port.Poller
	batch   *port.Batch
	frames  [burst]port.Frame
	pending []Received
}

var _ Wire = (*Interface)(nil)

// Open opens an interface of a network namespace; "" is this one.
func Open(netns, name string) (*Interface, error) {
	l, err := port.Inspect(netns, name)
	if err != nil {
		return nil, err
	}
	if !l.Up {
		return nil, fmt.Errorf("interface %s is down, or the other end of its link is: set both up (ip link set "+
			"dev %s up)", name, name)
	}
	c := classify.Config{Trust: classify.TrustPort}
	fanout, err := c.Fanout(0)
	if err != nil {
		return nil, err
	}
	i := &Interface{link: l, batch: port.NewBatch()}
	if i.poller, err = port.NewPoller(); err != nil {
		return nil, err
	}
	if i.port, err = port.Open(port.Config{Interface: name, Netns: netns, LosslessSlots: 1, OtherSlots: slots,
		FrameSize:  l.MTU + frame.HeaderOctets,
		SmallFrame: classify.SmallFrame, Fanout: fanout}); err != nil {
		_ = i.poller.Close()
		return nil, err
	}
	i.poller.Watch(i.port.Descriptors(nil, port.WorkOther|port.WorkControl))
	return i, nil
}

// Close closes the sockets.
func (i *Interface) Close() error {
	_ = i.poller.Close()
	return i.port.Close()
}

// Now implements Wire.
func (i *Interface) Now() int64 { return time.Now().UnixNano() }

// Address implements Wire.
func (i *Interface) Address() [6]byte { return i.link.MAC }

// MaxFrame implements Wire.
func (i *Interface) MaxFrame() int {
	return min(i.link.MTU, port.MaxFrame-frame.HeaderOctets) + frame.HeaderOctets
}

// Send implements Wire.
func (i *Interface) Send(b []byte, v frame.VnetHeader) (stamp int64, kernel bool, err error) {
	before := i.Now()
	if v != (frame.VnetHeader{}) {
		i.batch.Reset()
		i.batch.Begin(&v)
		i.batch.Part(b)
		i.batch.End()
		_, err = i.port.Send(i.batch)
		return before, false, err
	}
	stamp, err = i.port.SendStamped(b)
	if stamp < before || stamp > i.Now() {
		return before, false, err
	}
	return stamp, true, err
}

// Receive implements Wire.
func (i *Interface) Receive(until int64) (h Received, ok bool) {
	for {
		if len(i.pending) > 0 {
			h, i.pending = i.pending[0], i.pending[1:]
			return h, true
		}
		i.readRings()
		if len(i.pending) > 0 {
			continue
		}
		left := until - i.Now()
		if left <= 0 {
			return h, false
		}
		if i.poller.Wait(time.Duration(left)) == port.Failed {
			i.port.ClearError()
		}
	}
}

// readRings copies the frames that wait in the rings.
func (i *Interface) readRings() {
	i.pending = i.pending[:0]
	for b, stamp := i.port.Control(); b != nil; b, stamp = i.port.Control() {
		i.pending = append(i.pending, Received{Data: slices.Clone(b), Stamp: stamp})
		i.port.ControlDone()
	}
	for _, c := range []port.Class{port.Other, port.Lossless} {
		n := i.port.Receive(c, i.frames[:], 1<<20)
		for k := range n {
			f := &i.frames[k]
			if !f.Truncated {
				i.pending = append(i.pending, Received{Data: slices.Clone(f.Data), Stamp: f.Stamp,
					PartialChecksum: f.Vnet.NeedsCsum()})
			}
		}
		i.port.Release(c, n)
	}
}
