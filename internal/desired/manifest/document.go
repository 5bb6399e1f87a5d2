package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// document is one YAML or JSON document: its value as sigs.k8s.io/yaml reads
// it (maps, lists, strings, json.Numbers, booleans, nil) and its nodes.
type document struct {
	value any
	root  *yamlv3.Node
	// nodes is how many there are.
	nodes int
	// suspect is what may have caused a problem with the document, nil for nothing.
	suspect *Problem
}

// chunk is the text of one document and the number of lines above it.
type chunk struct {
	text  []byte
	above int
}

// parse reads all documents of a source; empty ones are left out.
func parse(s source) (docs []document, problems []Problem) {
	data := bytes.TrimPrefix(s.data, []byte("\ufeff"))
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return nil, []Problem{{File: s.name, Line: 1, Message: "the file is UTF-16", Hint: "save it as UTF-8"}}
	}
	nodes := 0
	for _, c := range split(data) {
		if len(docs)+len(problems) >= maxDocuments {
			return docs, append(problems, Problem{File: s.name, Line: c.above + 1, Message: tooManyDocuments})
		}
		found, err := c.parse()
		if err != nil {
			problem := Problem{File: s.name, Line: c.above + 1, Message: err.Error()}
			if at, ok := errors.AsType[*syntaxError](err); ok {
				problem.Line, problem.Hint = c.above+at.line, cmp.Or(at.hint, syntaxHint(c.text, at.line))
				if f := foreignText(c.text); f != nil {
					problem.Line, problem.Message, problem.Hint = c.above+1, f.message, f.hint
				}
			}
			problems = append(problems, problem)
		}
		for _, d := range found {
			if nodes += d.nodes; nodes > maxNodes {
				return docs, append(problems, Problem{File: s.name, Line: d.root.Line, Message: bounded.TooMany(0).Message})
			}
			if line, what := misplacedInvisible(c.text); line != 0 {
				d.suspect = &Problem{File: s.name, Line: c.above + line, Message: what, Hint: invisibleHint}
			}
			docs = append(docs, d)
		}
	}
	return docs, problems
}

// split cuts a stream at its document marks. Three dashes at the start of a
// line are a mark wherever they stand, even in a block scalar; directives
// and comments before one belong to the document after it.
func split(data []byte) []chunk {
	var chunks []chunk
	current, content, marked := chunk{}, false, false
	cut := func(at int) {
		if content {
			chunks = append(chunks, current)
		}
		current, content, marked = chunk{above: at}, false, false
	}
	line := 0
	for rest := data; len(rest) > 0; line++ {
		text := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			text = rest[:end+1]
		}
		rest = rest[len(text):]
		switch bare := bytes.TrimSpace(text); {
		case isMark(text, "---"):
			if content || marked {
				cut(line)
			}
			content, marked = len(bare) > 3, true
		case isMark(text, "..."):
			cut(line + 1)
			continue
		case len(bare) > 0 && bare[0] != '#' && bare[0] != '%':
			content = true
		}
		current.text = append(current.text, text...)
	}
	cut(line)
	return chunks
}

func isMark(line []byte, mark string) bool {
	return bytes.HasPrefix(line, []byte(mark)) && (len(line) == 3 || strings.ContainsRune(" \t\r\n", rune(line[3])))
}

// parse reads a chunk as JSON if it looks like it (as the kubelet does), and
// as YAML if it does not, or is YAML in braces after all.
func (c chunk) parse() ([]document, error) {
	text := bytes.TrimSpace(c.text)
	if len(text) == 0 || text[0] != '{' {
		return c.parseYAML()
	}
	if bounded.CheckJSON(text, maxNodes) != nil {
		return nil, tooMuch(bounded.TooMany(1))
	}
	docs, jsonErr := c.parseJSON()
	if jsonErr == nil {
		return docs, nil
	}
	inYAML, err := c.parseYAML()
	if err != nil && bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte(`"`)) {
		return docs, jsonErr
	}
	return inYAML, err
}

func (c chunk) parseYAML() ([]document, error) {
	if err := bounded.CheckDensity(c.text); err != nil {
		return nil, tooMuch(err)
	}
	dec := yamlv3.NewDecoder(bytes.NewReader(c.text))
	var root yamlv3.Node
	if err := dec.Decode(&root); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, c.syntax(err, 1)
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	var second yamlv3.Node
	if err := dec.Decode(&second); err == nil {
		return nil, &syntaxError{second.Line, "a second document begins without a line of ---", ""}
	} else if !errors.Is(err, io.EOF) {
		return nil, c.syntax(err, 1)
	}
	if key := keyThatIsNoScalar(&root); key != nil {
		return nil, &syntaxError{key.Line, "a key must be a scalar, got a list or a mapping", ""}
	}
	nodes, expands := measure(&root)
	if expands != nil {
		return nil, expands
	}
	data, err := yaml.YAMLToJSON(c.text)
	if err != nil {
		return nil, c.syntax(err, root.Content[0].Line)
	}
	value, err := unmarshal(data)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, nil
	}
	shift(&root, c.above)
	return []document{{value: value, root: root.Content[0], nodes: nodes}}, nil
}

// syntaxError is why a chunk cannot be read; the line counts within it.
type syntaxError struct {
	line    int
	message string
	hint    string
}

func (e *syntaxError) Error() string { return e.message }

var yamlError = lazyregexp.New(`(?s)^(?:error converting YAML to JSON: )?(?:yaml: )?(?:unmarshal errors:\s+)?(?:line (\d+): )?(.*)$`)

var anchorError = lazyregexp.New(`anchor '([^']+)'`)

// takeApart splits a YAML error into line and message. Where the error has no
// line, it is that of the anchor which it is about, or the fallback.
func (c chunk) takeApart(err error, fallback int) (line int, message string) {
	match := yamlError().FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(match[1])
	if anchor := anchorError().FindStringSubmatch(match[2]); anchor != nil && line == 0 {
		mark := regexp.MustCompile(`[*&]` + regexp.QuoteMeta(anchor[1]) + `\b`)
		if at := mark.FindIndex(c.text); at != nil {
			line = 1 + bytes.Count(c.text[:at[0]], []byte("\n"))
		}
	}
	return cmp.Or(line, fallback), match[2]
}

// syntax returns the error with the line of a YAML error. The parsers report one mark
// of two: v3 the start of the construct, v2 the wrong place; each is one short if the
// error is not the scanner's. For a bracket that is never closed the start helps, for
// everything else the wrong place.
func (c chunk) syntax(err error, fallback int) error {
	line, message := c.takeApart(err, fallback)
	if strings.HasPrefix(message, "did not find expected") {
		var value any // whose strings aliases share: nothing is expanded
		if err := yamlv2.Unmarshal(c.text, &value); err != nil && !strings.Contains(message, "',' or") {
			line, _ = c.takeApart(err, fallback)
		}
		line++
	}
	if strings.Contains(message, "control characters") || strings.Contains(message, "UTF-8") {
		line = 1 + bytes.Count(c.text[:firstBadByte(c.text)], []byte("\n"))
	}
	// A tab in the indentation is blamed first: the parser's own words for
	// it ("cannot start any token") do not help.
	for i, text := range bytes.Split(c.text, []byte("\n")) {
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if bytes.ContainsRune(indent, '\t') && len(bytes.TrimSpace(text)) > 0 && i+1 >= line-1 {
			return &syntaxError{i + 1, "a tab in the indentation, which YAML does not allow", "indent with spaces"}
		}
	}
	if at, what := misplacedInvisible(c.text); at != 0 {
		return &syntaxError{at, what, invisibleHint}
	}
	message, hint := withoutValues(message)
	return &syntaxError{line, "yaml: " + message, hint}
}

// valued are the messages of the parsers that quote what they could not read,
// which may be a secret: a word that begins with * or & is one to them, but no
// name to its author.
var valued = []struct {
	message       func() *regexp.Regexp
	instead, hint string
}{
	{lazyregexp.New("(?s)^(cannot decode \\S+) `.*` (as a \\S+)$"), "$1 $2", ""},
	{
		lazyregexp.New(`(?s)^unknown anchor '.*' referenced$`), "unknown anchor referenced",
		"a value that begins with * belongs in quotes",
	},
	{lazyregexp.New(`(?s)^anchor '.*' value contains itself$`), "the value of an anchor contains itself", ""},
	{lazyregexp.New(`(?s)^unsupported map key of type: .*$`), "a key must be a scalar", ""},
}

func withoutValues(message string) (text, hint string) {
	for _, v := range valued {
		if v.message().MatchString(message) {
			return v.message().ReplaceAllString(message, v.instead), v.hint
		}
	}
	return message, ""
}

// firstBadByte returns the offset of the first byte that no YAML text has: a control
// character or a byte that is not UTF-8; the end if there is none.
func firstBadByte(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || r == 0x7f || r < ' ' && !strings.ContainsRune("\t\r\n", r) {
			return i
		}
		i += size
	}
	return len(text)
}
