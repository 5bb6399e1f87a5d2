package tape

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
)

// archived is a gzipped tar archive of files: a name, and what is in it.
func archived(t *testing.T, files ...string) []byte {
	t.Helper()
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for i := 0; i < len(files); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1])), Format: tar.FormatPAX})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return zipped(text.String())
}

func TestReportIsReadAsItsRecording(t *testing.T) {
	recording := string(zipped(header + answer + end1))
	recorded := read(t, archived(t, "r/index.html", "<html>", "r/recording/node.tape", recording, "r/pods/pods.txt", "none"))
	if len(recorded.calls) != 1 {
		t.Errorf("%+v", recorded)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"none":          {archived(t, "r/index.html", "<html>"), "read report f: it has no recording"},
		"two nodes":     {archived(t, "r/a/recording/node.tape", recording, "r/b/recording/node.tape", recording), "read report f: it has recordings of several nodes"},
		"no recording":  {archived(t, "r/node.tape", "hello"), "read recording f:r/node.tape:1: not a recording"},
		"in itself":     {archived(t, "r/node.tape", string(archived(t, "r/node.tape", recording))), "read recording f:r/node.tape:1: not a recording"},
		"cut off":       {archived(t, "r/node.tape", string(zipped(header+answer))), "read recording f:r/node.tape:3: the recording is cut off here"},
		"cut in a file": {zipped(unzipped(t, archived(t, "r/node.tape", recording))[:600]), "read report f: unexpected EOF"},
	} {
		if _, err := Read("f", bytes.NewReader(c.file)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
