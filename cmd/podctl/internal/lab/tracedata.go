package lab

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/lab/trace"
)

// dataPrinter prints one object for each call.
type dataPrinter struct {
	destination
	stream *output.Stream
}

func (p *dataPrinter) begin() error { return nil }

func (p *dataPrinter) entry(e *trace.Entry) error { return p.stream.Print(e.Method, e.Data()) }

func (p *dataPrinter) summary(at time.Time, s summaryData) error {
	s.Type, s.Time = "summary", at
	return p.stream.Print("", s)
}

// chromePrinter prints one array of events. Viewers read one that is not complete, too.
type chromePrinter struct {
	destination
	begun, printed bool
}

func (p *chromePrinter) begin() error {
	p.begun = true
	return p.write("[")
}

func (p *chromePrinter) write(text string) error {
	_, err := p.Write([]byte(text))
	return err
}

func (p *chromePrinter) entry(e *trace.Entry) error {
	if e.InFlight {
		return nil // it has no end yet
	}
	for _, event := range e.Chrome() {
		text, err := json.Marshal(event)
		if err != nil {
			return err
		}
		separator := ",\n"
		if !p.printed {
			separator = "\n"
		}
		p.printed = true
		if err := p.write(separator + string(text)); err != nil {
			return err
		}
	}
	return nil
}

// summary is on standard error: the format has none.
func (p *chromePrinter) summary(_ time.Time, s summaryData) error {
	_, err := p.env.Errw.Write([]byte(s.text()))
	return err
}

func (p *chromePrinter) close() error {
	var err error
	if p.begun {
		err = p.write("\n]\n")
	}
	return cmp.Or(err, p.destination.close())
}
