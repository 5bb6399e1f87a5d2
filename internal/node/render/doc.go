// Package render turns a pod and the facts of its node into the very
// PodSandboxConfig and ContainerConfig that the kubelet would send.
//
//	*v1.Pod ─┬─► Sandbox ──► PodSandboxConfig      names, DNS, ports, namespaces, cgroup
//	Node ────┤
//	input ───┴─► Container ► ContainerConfig       command, env, mounts, user, limits
//	             Hosts     ► /etc/hosts            PodDNS, Hash, SubPaths: the parts that
//	                                               others need by themselves
//
// Everything is a pure function: no file is read, no clock, no randomness, and
// the arguments are not changed. What only the machine knows is in Node, read
// once by the owner of the machine (package node); what only this pod's life
// knows (image, IPs, directories made for it) is in the inputs. One input
// always gives one output, byte for byte. Nothing here blocks.
//
// The pod must have been defaulted as the API server does it.
//
// # Differs from the kubelet in
//
//   - Variables keep the order of the manifest, and DNS options are sorted;
//     the kubelet sends both in the random order of a Go map.
//   - spec.nodeName of a fieldRef is always the node's name, as it is for a
//     static pod.
//   - lifecycle.stopSignal is sent if Node.StopSignals is set: it stands for the
//     kubelet's feature gate ContainerStopSignals, off in v1.37; podctl sets it.
//   - Without Services there is no cluster DNS: ClusterFirst is Default, without the
//     event.
//   - Swap is always off, memory QoS too: the kubelet's defaults.
package render
