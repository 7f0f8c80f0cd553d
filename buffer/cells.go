package buffer

// wholeCells returns n bytes rounded up to whole cells. Negative sizes count as none.
func wholeCells(n, cell int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n + cell - 1) / cell * cell
}

// Charge returns the bytes that a frame of n octets without FCS occupies: n rounded up to whole cells. Headroom has to
// be counted in these bytes too: in cells of 256 B a stream of 60-octet frames occupies more than four times its size.
func (m *Manager) Charge(n int) int64 { return wholeCells(int64(n), m.cell) }
