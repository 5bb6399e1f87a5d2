package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/sys/atomicfile"
)

// directory is a directory of manifests, one document a file, that belongs to the
// bridge.
type directory struct {
	path    string
	written map[string][]byte
}

// update makes the documents the only ones of the directory. A pod appears after its
// objects, and is removed before them.
func (d *directory) update(documents []document) error {
	next := map[string][]byte{}
	for _, doc := range documents {
		text, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		next[doc.file()] = text
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if !bytes.Equal(d.written[name], next[name]) {
			problems = append(problems, atomicfile.Replace(filepath.Join(d.path, name), next[name], 0o600))
		}
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(d.written))) {
		if next[name] == nil {
			if err := os.Remove(filepath.Join(d.path, name)); !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err)
			}
		}
	}
	d.written = next
	return errors.Join(problems...)
}

// file returns the name of the document's file: those of objects come before those of
// pods.
func (d document) file() string {
	m := d["metadata"].(metav1.ObjectMeta) // as each document of this package
	kind := d["kind"].(string)
	if kind == "Pod" {
		return fmt.Sprintf("pod_%s.json", m.UID)
	}
	return fmt.Sprintf("object_%s_%s_%s.json", strings.ToLower(kind), m.Namespace, m.Name)
}
