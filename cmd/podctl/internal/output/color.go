package output

// The escape sequences that color a line on a terminal. A color is never the
// only sign of what it says.
const (
	Red    = "\x1b[31m"
	Yellow = "\x1b[33m"
	Plain  = "\x1b[0m"
)
