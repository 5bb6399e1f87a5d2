package manifest

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
)

// templateHash is the hash in the names of a Deployment's pods and in their
// label pod-template-hash. It is made as Kubernetes makes it (ComputeHash in
// pkg/controller/controller_utils.go), but of the template as written:
// Kubernetes hashes its own Go struct, whose hash changes with its releases,
// and a pod that has another name is another pod.
func templateHash(template map[string]any) string {
	metadata, _ := template["metadata"].(map[string]any)
	written := map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"], "spec": template["spec"]}
	hasher := fnv.New32a()
	_, _ = hasher.Write(marshal(written)) // never fails
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}

// nameLetters are those of generated names: no vowels, and nothing that looks
// like something else.
const nameLetters = "bcdfghjklmnpqrstvwxz2456789"

// fiveOf are five characters as the API server appends them to generated
// names, made of what the name is for.
func fiveOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	var five [5]byte
	for i := range five {
		five[i] = nameLetters[int(sum[i])%len(nameLetters)]
	}
	return string(five[:])
}
