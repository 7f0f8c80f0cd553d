package macctl

const (
	// QuantumBits is one pause quantum in bit times of the port (IEEE 802.3 31B.2).
	QuantumBits = 512

	// NominalSpeed, in bit/s, counts wherever a port has no speed. A speed of 0 is no speed, here and everywhere.
	NominalSpeed int64 = 10_000_000_000

	nanosecondsPerSecond = 1_000_000_000
)

// SpeedOrNominal returns the speed by which a port counts quanta, headroom and send calls: NominalSpeed where the port
// has no speed.
func SpeedOrNominal(bitsPerSecond int64) int64 {
	if bitsPerSecond <= 0 {
		return NominalSpeed
	}
	return bitsPerSecond
}

// QuantaDuration returns how long q quanta last at a speed in bit/s, in ns. The result is rounded up, so that a port
// which waits that long never sends early.
func QuantaDuration(q uint16, bitsPerSecond int64) int64 {
	bps := SpeedOrNominal(bitsPerSecond)
	return (int64(q)*QuantumBits*nanosecondsPerSecond + bps - 1) / bps
}

// quantaFor is the inverse of QuantaDuration: the fewest quanta that last ns or longer, for ns > 0; at most 0xFFFF.
func quantaFor(ns, bitsPerSecond int64) uint16 {
	if ns >= QuantaDuration(0xFFFF, bitsPerSecond) {
		return 0xFFFF
	}
	return uint16((ns-1)*SpeedOrNominal(bitsPerSecond)/(QuantumBits*nanosecondsPerSecond) + 1)
}

// responseLimits is the table of IEEE 802.3 31B.3.7, in quanta. The row of 10G is not that of 10GBASE-T, which has 74.
var responseLimits = [...]struct {
	speed  int64 // bit/s
	quanta int64
}{
	{100_000_000, 1},
	{1_000_000_000, 2},
	{10_000_000_000, 60},
	{25_000_000_000, 80},
	{40_000_000_000, 118},
	{50_000_000_000, 147},
	{100_000_000_000, 394},
	{200_000_000_000, 453},
	{400_000_000_000, 905},
}

// ResponseLimitBits returns the bit times within which a station of this speed, in bit/s, must stop sending after a
// PAUSE arrived (IEEE 802.3 31B.3.7). A speed between two rows of the table takes the bits of the faster row. A speed
// beyond the table takes those of the last row.
func ResponseLimitBits(bitsPerSecond int64) int64 {
	bps := SpeedOrNominal(bitsPerSecond)
	for _, row := range responseLimits {
		if bps <= row.speed {
			return row.quanta * QuantumBits
		}
	}
	return responseLimits[len(responseLimits)-1].quanta * QuantumBits
}
