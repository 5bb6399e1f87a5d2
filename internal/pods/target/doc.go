// Package target resolves what a user names to pods and containers.
//
//	words, -n, -A, -l ─────────────► Pods ───────► []*view.Pod
//	  and -c, --attempt, -p ───────► Containers ─► []Target (pod, container)
//	                                 One ────────► Target
//
// A word is [NAMESPACE/]POD[/CONTAINER], each part with * and ? where several
// make sense, or the beginning of the UID of a pod or of the id of a sandbox or
// container, of six characters at least. These rules decide between readings:
//
//   - A name goes before an id.
//   - A name without a namespace is that of --namespace. Without one it is a pod of
//     the namespace default; if that has none, the only pod of the name in
//     any namespace. With --all-namespaces all namespaces are equal.
//   - A/B is pod B of namespace A; if there is none, container B of pod A. With
//     --namespace it is container B of pod A of that namespace first.
//   - Of several pods of one name it is the one that a podctl process manages, else
//     one that runs, else the newest. The others have a UID.
//   - The container is the one named, else that of the annotation
//     kubectl.kubernetes.io/default-container, else the first of the pod's spec; where
//     the spec is not known, a running one before an exited one, then the oldest.
//   - A container stands for its newest attempt, running or exited.
//
// A word KIND:VALUE is a Property: the Of… functions find its pod, from what the command line
// has read of the host.
//
// Everything is pure. Errors name the candidates and suggest the nearest name.
package target
