package bounded

import "bytes"

// CheckDensity returns an error for a YAML document that would have many more than
// MaxNodes nodes, before there are any: each takes a hundred times the two bytes
// that may be its text. It counts the indicators that begin a node, in block scalars
// and strings too. A document that it takes has at most three nodes for each.
func CheckDensity(document []byte) *DocumentError {
	indicators := 0
	for i, b := range document {
		switch b {
		case ',', '[', '{':
		case '-', ':', '?':
			if i+1 < len(document) && !isBlank(document[i+1]) {
				continue
			}
		default:
			continue
		}
		if indicators++; indicators > MaxNodes {
			return TooMany(1 + bytes.Count(document[:i], []byte("\n")))
		}
	}
	return nil
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
