package dcqcn

// A NotificationPoint is what the receiver of a flow knows. Its zero value is ready.
type NotificationPoint struct {
	next int64 // no CNP before
}

// Marked says that a frame came at time now, in ns, with congestion experienced, and reports whether a CNP has to be
// sent: at once where none was sent within interval (section 3.1).
func (n *NotificationPoint) Marked(interval, now int64) bool {
	if now < n.next {
		return false
	}
	n.next = now + interval
	return true
}
