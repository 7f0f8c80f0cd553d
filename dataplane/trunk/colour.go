package trunk

// A Colour is how well a frame keeps to a promised rate (RFC 2698).
type Colour uint8

// The colours, from the best to the worst.
const (
	Green  Colour = iota // within the committed rate
	Yellow               // above it, within the peak rate
	Red                  // above the peak rate
	NumColours
)

var colourNames = [NumColours]string{"green", "yellow", "red"}

// String returns the name as metrics print it.
func (c Colour) String() string {
	if c >= NumColours {
		return "invalid"
	}
	return colourNames[c]
}
