package recording

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const (
	header  = `{"format":"podctl-recording","version":1,"podctl":"v1","runtime":"sim","time":"2026-01-02T03:04:05Z"}` + "\n"
	version = `{"call":"Version","answer":{"runtimeName":"a"}}` + "\n"
	end1    = `{"end":1}` + "\n"
)

func TestReaderErrorsNameTheLine(t *testing.T) {
	foreign := "f:1: not a recording of podctl record"
	whole := zipped(header + version + end1)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":             {nil, foreign},
		"text":              {[]byte(header + version + end1), foreign},
		"truncated":         {whole[:len(whole)-20], "f:2: the recording is cut off here"},
		"no checksum":       {whole[:len(whole)-4], "f:3: the recording is cut off here"},
		"wrong checksum":    {append(slices.Clone(whole[:len(whole)-8]), 1, 2, 3, 4, 5, 6, 7, 8), "f:3: gzip: invalid checksum"},
		"more":              {zipped(header + version + end1 + version), "f:3: something comes after the end"},
		"other JSON":        {zipped("{}\n"), foreign},
		"no JSON":           {zipped("hello\n"), foreign},
		"no line":           {zipped(header[:len(header)-1]), foreign},
		"later format":      {zipped(strings.Replace(header, `"version":1`, `"version":2`, 1)), "f:1: its format is 2, and this podctl reads 1"},
		"bad time":          {zipped(`{"format":"podctl-recording","version":1,"time":"yesterday"}` + "\n"), "f:1: parsing time"},
		"no time":           {zipped(`{"format":"podctl-recording","version":1}` + "\n"), "f:1: it has no time"},
		"header only":       {zipped(header), "f:2: the recording is cut off here"},
		"cut in a line":     {zipped(header + version[:20]), "f:2: the recording is cut off here"},
		"cut between lines": {zipped(header + version), "f:3: the recording is cut off here"},
		"answers missing":   {zipped(header + end1), "f:2: 1 lines, of which 0 are there"},
		"type":              {zipped(header + `{"call":7}` + "\n"), "f:2: json: cannot unmarshal number"},
		"unknown call":      {zipped(header + `{"call":"StopContainer","answer":{}}` + "\n"), `f:2: unknown call "StopContainer"`},
		"no answer":         {zipped(header + `{"call":"Version"}` + "\n"), "f:2: Version without an answer"},
		"unknown code":      {zipped(header + `{"call":"Version","error":{"code":"Bad"}}` + "\n"), `f:2: unknown code "Bad"`},
		"answer of a type":  {zipped(header + `{"call":"Version","answer":[]}` + "\n"), "f:2: answer of Version: "},
		"request of a type": {zipped(header + `{"call":"Version","request":7,"answer":{}}` + "\n"), "f:2: request of Version: "},
		"deep":              {zipped(header + `{"call":"Version","answer":{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}` + "\n"), "f:2: answer of Version: "},
		"too deep":          {zipped(header + strings.Repeat("[", 1<<16) + "\n"), "f:2: invalid character '[' exceeded max depth"},
		"many objects":      {zipped(header + `{"call":"ListContainers","answer":{"containers":[{}` + strings.Repeat(",{}", maxObjects) + `]}}` + "\n"), "f:2: more than 262144 objects in a line"},
		"many values":       {zipped(header + `{"call":"ListImages","answer":{"images":[{"repoTags":[""` + strings.Repeat(`,""`, maxEntries) + `]}]}}` + "\n"), "f:2: more than 262144 values in a line"},
		"many lines":        {zipped(header + strings.Repeat(`{"call":"ListContainers","answer":{"containers":[{}`+strings.Repeat(",{}", maxObjects-9)+`]}}`+"\n", 5)), "f:6: more than 1048576 objects"},
		"a bomb":            {zipped(header + strings.Repeat("x", maxLine+1)), "f:2: longer than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("f", bytes.NewReader(c.file))
			if err == nil || !strings.HasPrefix(err.Error(), "read recording "+c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	recorded := read(t, whole)
	if len(recorded.answers) != 1 || recorded.Header.Podctl != "v1" {
		t.Errorf("%+v", recorded)
	}
}

// Fields of a later podctl and of a later CRI are skipped, so that a recording is readable for
// years on both sides.
func TestReaderSkipsWhatItDoesNotKnow(t *testing.T) {
	recorded := read(t, zipped(strings.Replace(header, `"podctl"`, `"node":{"zone":"a"},"podctl"`, 1)+
		`{"call":"Version","answer":{"runtimeName":"a","release":{"codename":"x"}},"caller":{"pid":7}}`+"\n"+end1))
	if len(recorded.answers) != 1 {
		t.Errorf("%+v", recorded)
	}
}

// A recording larger than its bound is not read to its end.
func TestReaderBoundsTheWhole(t *testing.T) {
	line := `{"call":"Version","answer":{"runtimeName":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	var text strings.Builder
	text.WriteString(header)
	for range maxTotal>>20 + 1 {
		text.WriteString(line)
	}
	file := bytes.NewReader(zipped(text.String()))
	if _, err := Read("f", file); err == nil || !strings.Contains(err.Error(), ": the recording is larger than 64 MiB") {
		t.Error(err)
	}
}

// No file makes reading panic, or fail without naming the line.
func FuzzRead(f *testing.F) {
	f.Add(header + version + end1)
	f.Add(header + `{"call":"ListContainers","answer":{"containers":[{"id":"a"},{}]}}` + "\n" + end1)
	f.Fuzz(func(t *testing.T, text string) {
		recorded, err := Read("f", bytes.NewReader(zipped(text)))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "read recording f:") {
				t.Error(err)
			}
			return
		}
		for name := range questions {
			_, _ = recorded.Answer(name, nil)
		}
	})
}
