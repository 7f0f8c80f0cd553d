package buffer

// A FlowController is told when an ingress queue turns OFF (its peer must stop) and ON again. The calls set and clear
// one bit per queue; the controller knows which other causes hold the peer, and sends XOFF and XON. On a port with
// ModePause the queue is 0. Admit, Release, Resume and the methods that change the configuration call the controller,
// which must not call the Manager. Release may come for a port that is being removed.
type FlowController interface {
	// Hold says that the queue turned OFF: its peer must stop.
	Hold(port int, queue uint8)
	// Release says that the queue turned ON: its peer may send.
	Release(port int, queue uint8)
}

// A Manager keeps the accounts of one switch's packet memory.
type Manager struct {
	flow FlowController

	config  Config             // as given
	configs map[int]PortConfig // as given

	cell      int64
	ringHold  bool
	threshold Threshold // where a queue turns OFF
	policy    Threshold // T
	dynamic   bool      // HeadroomSharing.Dynamic
	now       int64     // ns, of SetTime
	lossless  losslessPool
	lossy     lossyPool
	ports     []*port  // by number; nil where there never was one
	off       []*queue // the queues that are OFF, in no order

	unbalanced uint64
}

type losslessPool struct {
	size  int64        // bytes, whole cells
	limit segmentBytes // Σφ, B_s, and the headroom segment
	used  segments
}

type lossyPool struct {
	size int64 // bytes, whole cells
	used gauge
}

// A port's queues outlive their configuration for as long as they hold bytes.
type port struct {
	number    int
	present   bool
	config    PortConfig // as planned: sizes in whole cells, every α set
	queueMask uint8      // ingress queue = priority & queueMask
	ingress   [Priorities]queue
	egress    [Priorities]lossyQueue
	// charged is held by priority: in ModePause eight priorities are in one queue, and a change of mode parts them.
	charged [Priorities]int64
	// removedCounters are those of the port of this number that was removed last.
	removedCounters *PortCounters // nil: none was
	used            segments      // sum of the ingress queues, kept where headroom is dynamic
}

// A queue is a lossless ingress queue (SAI: priority group), or the bytes that are left of one.
type queue struct {
	id       QueueID
	config   QueueConfig
	lossless bool
	off      bool
	offIndex int   // in Manager.off
	waiting  int64 // bytes of the frame that got the verdict Wait and has not come in yet, else 0
	coming   int64 // bytes of the frames of Expect that have not come in yet
	used     segments
	count    Counters
	port     *port
	active   *activity
}

type lossyQueue struct {
	alpha  float64
	used   gauge
	count  LossyCounters
	active *activity
}

// New returns a Manager without ports. Its errors wrap ErrConfig.
func New(c Config, flow FlowController) (*Manager, error) {
	if flow == nil {
		return nil, configError("no flow controller: without one a full queue could not stop its peer")
	}
	next, err := NewPlan(c, nil)
	if err != nil {
		return nil, err
	}
	m := &Manager{flow: flow, cell: int64(c.Cell)}
	m.Commit(next)
	return m, nil
}

func (m *Manager) port(number int) *port {
	if uint(number) >= uint(len(m.ports)) {
		return nil
	}
	return m.ports[number]
}

// queue returns the lossless ingress queue of a priority, nil if there is none.
func (m *Manager) queue(number int, prio uint8) (*port, *queue) {
	p := m.port(number)
	if p == nil || prio >= Priorities {
		return nil, nil
	}
	q := &p.ingress[prio&p.queueMask]
	if !q.lossless {
		return nil, nil
	}
	return p, q
}
