package manifest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/podctl/podctl/internal/boundeddoc"
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

// TooLargeError is a document that no annotation can hold.
type TooLargeError struct {
	// Size and Max are in bytes; Compressed reports which form was measured.
	Size, Max  int
	Compressed bool
}

func (e *TooLargeError) Error() string {
	form := ""
	if e.Compressed {
		form = " compressed"
	}
	return fmt.Sprintf("the pod has %d bytes%s, of at most %d", e.Size, form, e.Max)
}

// Hint says what makes a pod smaller.
func (e *TooLargeError) Hint() string {
	return "the runtime keeps each pod's manifest in an annotation: move data out of it, into a ConfigMap"
}

var _ interface{ Hint() string } = (*TooLargeError)(nil)

// zippers are gzip.Writers, which have 800 KiB of tables each.
var zippers = sync.Pool{New: func() any {
	zipper, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // the level is valid
	return zipper
}}

// Compress makes the text of pod.ManifestAnnotation from a document. The
// same document makes the same text. Its error is a *TooLargeError.
func Compress(document []byte) (string, error) {
	if len(document) > maxDocument {
		return "", &TooLargeError{Size: len(document), Max: maxDocument}
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
		return "", &TooLargeError{Size: b.Len(), Max: maxCompressed, Compressed: true}
	}
	return b.String(), nil
}

// fits reports whether Compress takes a document, without the work of it where
// the size alone says so.
func fits(document []byte) error {
	const zipOverhead = 64 // of gzip, on data that does not compress
	if base64.StdEncoding.EncodedLen(len(document)+zipOverhead) <= maxCompressed {
		return nil
	}
	_, err := Compress(document)
	return err
}

// Decompress is the reverse of Compress. It reads no more than Compress would
// have taken, whatever the annotation says.
func Decompress(annotation string) ([]byte, error) {
	if len(annotation) > maxCompressed {
		return nil, fmt.Errorf("decompress manifest: %w", &TooLargeError{Size: len(annotation), Max: maxCompressed, Compressed: true})
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
		return nil, fmt.Errorf("decompress manifest: %w", &TooLargeError{Size: len(document), Max: maxDocument})
	}
	if err := boundeddoc.CheckJSON(document, maxValues+addedValues); err != nil {
		return nil, fmt.Errorf("decompress manifest: %w", err)
	}
	return document, nil
}
