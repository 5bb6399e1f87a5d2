package recording

import (
	"archive/tar"
	"bytes"
	"fmt"
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

// sparse is a report whose recording has a hole, and takes no room in the archive.
func sparse(t *testing.T, size int) []byte {
	t.Helper()
	records := ""
	for _, record := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=r/node.tape", fmt.Sprintf("GNU.sparse.realsize=%d", size)} {
		record = " " + record + "\n"
		records += fmt.Sprint(len(record)+2) + record
	}
	holes := fmt.Sprintf("1\n%d\n0\n", size)
	text := unzipped(t, archived(t, "x", records, "r/node.tape", holes+strings.Repeat("\x00", 512-len(holes))))
	text = text[:156] + "x" + text[157:]
	sum := 8 * int(' ')
	for i, b := range []byte(text[:512]) {
		if i < 148 || i >= 156 {
			sum += int(b)
		}
	}
	return zipped(text[:148] + fmt.Sprintf("%06o\x00 ", sum) + text[156:])
}

func TestReportIsReadAsItsRecording(t *testing.T) {
	recording := string(zipped(header + version + end1))
	recorded := read(t, archived(t, "r/index.html", "<html>", "r/recording/node.tape", recording, "r/pods/pods.txt", "none"))
	if len(recorded.answers) != 1 {
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
		"cut off":       {archived(t, "r/node.tape", string(zipped(header+version))), "read recording f:r/node.tape:3: the recording is cut off here"},
		"a hole":        {sparse(t, 1<<40), "read report f: r/node.tape is larger than 64 MiB"},
		"cut in a file": {zipped(unzipped(t, archived(t, "r/node.tape", recording))[:600]), "read report f: unexpected EOF"},
	} {
		if _, err := Read("f", bytes.NewReader(c.file)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
