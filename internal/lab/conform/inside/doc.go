// Package inside is what podctl does in the containers of a conformance test: steps, one
// after the other.
package inside

// Command is the hidden command of podctl that runs steps.
const Command = "conform-probe"

// FactsPrefix begins the line of facts that a step writes.
const FactsPrefix = "facts: "

// maxContent bounds the content of a file that is read.
const maxContent = 4 << 10
