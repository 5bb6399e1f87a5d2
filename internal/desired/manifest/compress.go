package manifest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

const (
	// maxCompressed bounds a document in the form that an annotation holds.
	maxCompressed = 64 << 10
	// maxDocument bounds a document before compression.
	maxDocument = maxSource
	// addedValues is more than what Load adds to the values of a document: names,
	// labels, an owner.
	addedValues = 1000
)

// tooLarge returns the error for a pod of a size that no annotation can hold, in
// bytes. form is " compressed" if that form was measured.
func tooLarge(size, limit int, form string) error {
	return hint.Errorf("the runtime keeps each pod's manifest in an annotation: move data out of it, into a ConfigMap",
		"the pod has %d bytes%s, of at most %d", size, form, limit)
}

const compressedForm = " compressed"

// zippers are gzip.Writers, which have 800 KiB of tables each.
var zippers = sync.Pool{New: func() any {
	zipper, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // the level is valid
	return zipper
}}

// Compress makes the text of pod.ManifestAnnotation from a document. The
// same document makes the same text.
func Compress(document []byte) (string, error) {
	if len(document) > maxDocument {
		return "", tooLarge(len(document), maxDocument, "")
	}
	var b strings.Builder
	encoder := base64.NewEncoder(base64.StdEncoding, &b)
	zipper := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zipper)
	zipper.Reset(encoder)
	// A strings.Builder takes everything, so none of these can fail.
	_, _ = zipper.Write(document)
	_, _ = zipper.Close(), encoder.Close()
	if b.Len() > maxCompressed {
		return "", tooLarge(b.Len(), maxCompressed, compressedForm)
	}
	return b.String(), nil
}

// fits reports whether Compress accepts a document. It compresses only if the size
// alone does not decide.
func fits(document []byte) error {
	const zipOverhead = 64 // of gzip, on data that does not compress
	if base64.StdEncoding.EncodedLen(len(document)+zipOverhead) <= maxCompressed {
		return nil
	}
	_, err := Compress(document)
	return err
}

// Decompress returns the reverse of Compress. It reads no more than Compress would
// have taken, whatever the annotation says.
func Decompress(annotation string) ([]byte, error) {
	if len(annotation) > maxCompressed {
		return nil, fmt.Errorf("decompress manifest: %w", tooLarge(len(annotation), maxCompressed, compressedForm))
	}
	data, err := base64.StdEncoding.DecodeString(annotation)
	if err != nil {
		return nil, fmt.Errorf("decompress manifest: %w", err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompress manifest: %w", err)
	}
	document, err := io.ReadAll(io.LimitReader(zipped, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("decompress manifest: %w", err)
	}
	if len(document) > maxDocument {
		return nil, fmt.Errorf("decompress manifest: %w", tooLarge(len(document), maxDocument, ""))
	}
	if err := bounded.CheckJSON(document, maxValues+addedValues); err != nil {
		return nil, fmt.Errorf("decompress manifest: %w", err)
	}
	return document, nil
}
