// Package manifest turns bytes into pods: what a person wrote, as the API
// server would have stored it, and every reason why that cannot be.
//
//	FILE DIR URL -  ──► source ──► documents ──► pods, objects ──► *Set
//	                    bytes      values and    checked against the type      (strict, yaml11, suggest)
//	                               YAML nodes    defaulted, validated          (apiserver)
//	                                  │          held against the field table  (fields, support)
//	                                  └► workloads: the template becomes pods  (workload)
//
// A document has two halves that are read side by side: its values, by
// sigs.k8s.io/yaml as every Kubernetes program reads them, and its YAML
// nodes, which alone know lines. A problem is found on the values and placed
// by the nodes.
//
// kinds.go lists the kinds, each with its type and its field table. Objects
// (ConfigMaps, Secrets, claims, classes …) go into the Set beside the pods that refer to
// them, and are no part of a pod's identity. Once all of them are there, Admit applies them to the
// pods (admit.go, limits.go), and says what no object declares (references.go); Load does
// that, after Parse its caller. No message contains a value of a
// Secret. The pods of workloads are pods like any other, with a document of
// their own.
//
// Nothing is dropped silently. A field that is unknown, of the wrong type
// or not supported is an error with its line; one that needs a control plane
// is a warning. All problems of all documents are reported at once, and
// nothing of a Set with problems should be started.
//
// A pod's identity is what is immutable of its document (mutable.go), and
// InPlace reports whether a running pod can follow to another version. Pod.Document is what was read, in one
// canonical form, and Decode makes the same pod of it again, UID included.
// It travels with the sandbox (Compress), so that a podctl that was killed
// finds its pods again.
//
// Load reads files, standard input and URLs, and may block on them until its
// context ends. Everything else is pure. Nothing here keeps state; a *Set
// belongs to its caller.
//
// Differs from the kubelet in (pkg/kubelet/config): the manifest is decoded
// strictly, so a misspelt field is an error and not dropped; all problems are
// reported, not the first one; names get no node suffix, and pods no
// toleration and no config annotations; the UID is a hash of what is immutable of the document and
// not of the node and file name; List is read beside PodList; pods are
// changed by the objects beside them, which is otherwise the work of the API
// server's admission plugins; a runtime class is never ignored.
package manifest

//go:generate go test -run TestFieldsPageIsCurrent|TestKubernetesOwnManifests -update .
