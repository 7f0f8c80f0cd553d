package buffer

// Room returns how many bytes a queue can still take before a frame finds no room: up to its threshold in the shared
// segment, then the headroom. It is 0 for a priority that is not lossless.
func (m *Manager) Room(port int, prio uint8) int64 {
	_, q := m.queue(port, prio)
	if q == nil {
		return 0
	}
	held := q.held.held()
	room := q.config.Headroom - held.headroom
	if held.headroom == 0 {
		free := m.lossless.free()
		room += q.config.Private - held.private + max(0, min(free, m.threshold.Limit(q.id, q.config, free)-held.shared))
	}
	return room
}
