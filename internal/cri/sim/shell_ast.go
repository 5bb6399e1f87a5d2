package sim

// node is a piece of a parsed script.
type node interface{ isNode() }

type (
	// command is a simple one: assignments, words, redirections.
	command struct {
		assign []assignment
		words  []word
		redirs []redirection
	}
	assignment struct {
		name  string
		value word
	}
	redirection struct {
		fd     string // "1" or "2"
		op     string // > >> >& <
		target word
	}
	// list runs its items in order; each says how it hangs on the one before.
	list []item
	item struct {
		after      string // ";" "&&" "||"
		background bool
		negate     bool
		body       node
	}
	loop struct {
		cond, body node
		until      bool
	}
	branch struct {
		cond, then node
		otherwise  node // may be nil
	}
	// each is a for loop.
	each struct {
		name  string
		words []word
		body  node
	}
)

func (*command) isNode() {}
func (list) isNode()     {}
func (*loop) isNode()    {}
func (*branch) isNode()  {}
func (*each) isNode()    {}
