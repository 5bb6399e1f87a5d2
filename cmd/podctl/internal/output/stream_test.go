package output

import (
	"bytes"
	"testing"
)

func TestStreamPrintsOneObjectAtATime(t *testing.T) {
	type object struct {
		Name string `json:"name,omitempty"`
		N    int    `json:"n"`
	}
	for format, want := range map[string]string{
		"json":                              "{\"name\":\"a\",\"n\":1}\n{\"n\":2}\n{\"name\":\"bbbbbb\",\"n\":3}\n",
		"yaml":                              "\"n\": 1\nname: a\n---\n\"n\": 2\n---\n\"n\": 3\nname: bbbbbb\n",
		"name":                              "a\nbbbbbb\n",
		"jsonpath={.name}":                  "a\nbbbbbb\n",
		"jsonpath={.n}{\"\\n\"}":            "1\n2\n3\n",
		"go-template={{.n}}":                "1\n2\n3\n",
		"custom-columns=NAME:.name,N:.n":    "NAME  N\na     1\n<none>  2\nbbbbbb  3\n",
		"custom-columns=A-LONG-NAME:.n,N:n": "A-LONG-NAME  N\n1            1\n2            2\n3            3\n",
	} {
		f, err := ParseFormat(format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		s := f.NewStream(NewWriter(&out))
		for _, o := range []object{{"a", 1}, {"", 2}, {"bbbbbb", 3}} {
			if err := s.Print(o.Name, o); err != nil {
				t.Errorf("-o %s: %v", format, err)
			}
		}
		if out.String() != want {
			t.Errorf("-o %s:\n%swant\n%s", format, out.String(), want)
		}
	}
}

func TestStreamWithoutHeaders(t *testing.T) {
	f, err := ParseFormat("custom-columns=N:.n")
	if err != nil {
		t.Fatal(err)
	}
	f.NoHeaders = true
	var out bytes.Buffer
	if err := f.NewStream(&out).Print("", map[string]int{"n": 1}); err != nil || out.String() != "1\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
