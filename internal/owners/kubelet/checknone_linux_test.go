package kubelet

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestCheckNoneUnseen(t *testing.T) {
	err := CheckNone(t.Context(), filepath.Join(t.TempDir(), "none.sock"))
	if unseen, ok := errors.AsType[*UnseenError](err); !ok || unseen.Hint() == "" {
		t.Errorf("%v", err)
	}
}
