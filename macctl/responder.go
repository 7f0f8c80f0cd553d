package macctl

// Bounds of what an EchoResponder answers. The rate is that of a check of a link. An answer is never longer than its
// request and goes to one station on the link, so that nobody gains by asking.
const (
	echoRate        = 250_000 // octets a second
	echoDepth       = 1 << 17 // octets at once: one request of each length that a check tries
	maxQueuedEchoes = 8       // requests that wait for their answers
	second          = 1_000_000_000

	// EchoInterval is the time, in ns, from one request of FrameSize octets to the next that a responder answers
	// without end.
	EchoInterval = FrameSize * second / echoRate
)

// An EchoResponder answers the echo requests of one port. The zero value is ready.
type EchoResponder struct {
	queue [maxQueuedEchoes]queuedEcho
	first int
	n     int
	used  int64 // of the bucket, in octets · second, at time at
	at    int64

	// Answered and Refused count requests. A refused one came too fast, or while its answer could not be sent.
	Answered, Refused uint64
}

type queuedEcho struct {
	frame    EchoFrame
	checksum Checksum
	stamp    int64
}

// HandleRequest queues the answer to a request that came at stamp; an answer is left alone. unfinished says that the
// frame came with the mark that leaves its checksum to the receiver.
func (e *EchoResponder) HandleRequest(f *EchoFrame, unfinished bool, stamp, now int64) {
	if f.Answer {
		return
	}
	e.used -= min(e.used, min(max(0, now-e.at), echoDepth*second/echoRate)*echoRate)
	e.at = now
	if e.n == maxQueuedEchoes || e.used+int64(f.Length)*second > echoDepth*second {
		e.Refused++
		return
	}
	e.used += int64(f.Length) * second
	w := queuedEcho{frame: *f, stamp: stamp}
	switch {
	case f.Checksum == ChecksumNone:
	case unfinished:
		w.checksum = ChecksumUnfinished
	case f.ChecksumOK:
		w.checksum = ChecksumRight
	default:
		w.checksum = ChecksumWrong
	}
	e.queue[(e.first+e.n)%maxQueuedEchoes] = w
	e.n++
}

// Pending reports whether an answer waits to be sent.
func (e *EchoResponder) Pending() bool { return e.n > 0 }

// An EchoAnswer is how an answer will leave.
type EchoAnswer struct {
	Octets  int
	Control bool // as a MAC Control frame of FrameSize, which no pause holds
	Tagged  bool // with this tag
	TCI     uint16
}

// Next returns how the oldest answer will leave. It reports false where there is none.
func (e *EchoResponder) Next() (a EchoAnswer, ok bool) {
	if !e.Pending() {
		return a, false
	}
	q := &e.queue[e.first].frame
	a = EchoAnswer{
		Octets: max(min(q.Octets, q.Length), FrameSize), Tagged: q.Tagged && q.Path != PathControl, TCI: q.TCI}
	a.Control = q.Path == PathControl && a.Octets == FrameSize
	return a, true
}

// Drop forgets the oldest answer.
func (e *EchoResponder) Drop() {
	if e.n > 0 {
		e.pop()
		e.Refused++
	}
}

// pop takes the oldest request off the queue.
func (e *EchoResponder) pop() *queuedEcho {
	w := &e.queue[e.first]
	e.first = (e.first + 1) % maxQueuedEchoes
	e.n--
	return w
}

// Append appends the oldest answer, from the address own, to be sent at time now. It reports false where there is none.
func (e *EchoResponder) Append(b []byte, format *MeasurementFormat, own [6]byte, now int64) ([]byte, bool) {
	if e.n == 0 {
		return b, false
	}
	w := e.pop()
	e.Answered++
	q := &w.frame
	answer := Echo{Answer: true, Session: q.Session, Sequence: q.Sequence, Received: w.stamp, Sent: now,
		Octets: q.Length, Path: q.ReceivedPath, Tagged: q.HasTag, TCI: q.Tag, Checksum: w.checksum}
	return format.AppendEcho(b, q.Source, own, q.Path, min(q.Octets, q.Length), q.Tagged, q.TCI, answer), true
}

// Reset empties the queue: the link is down.
func (e *EchoResponder) Reset() { e.n = 0 }
