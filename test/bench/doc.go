// Command bench measures podctl against the bare CRI calls, the physical limit,
// and its PLEG against the kubelet's loop, in one run on one runtime.
//
//	start   podctl options, ctr --version              time; what grew in the file, in initializers
//	pods    for each number of pods, several rounds, in turn:
//	          bare    ─┐
//	                   ├─► record.Proxy ─► runtime       pods running `true`
//	          podctl  ─┘   (times, calls)
//	exits   bare ─► runtime ─┬─► its events
//	                         ├─► PLEG with hints         exit to event
//	                         └─► PLEG by relist only
//	relist  changes ─► sim ─┬─► the two lists alone
//	                        ├─► the kubelet's loop       one full relist
//	                        └─► PLEG
//	idle    podctl run, agent ─► record.Proxy ─► runtime /proc/PID, calls
//	          podctl pods, bare lists ─┘                 time of a listing
//	look    podctl agent ─► runtime ◄── podctl pods, top, describe, completion; crictl pods, stats
//	scale   podctl agent ─► record.Proxy ─► podctl sim     /proc/PID, calls, commands
//	exec    podctl exec, crictl exec ─► runtime            time of true in a container
//	logs    podctl logs, crictl logs ─► a file of 1 GiB    time of all of it, and of the last lines
//
// In pods both go through the same recording proxy, and every time is read
// there: from the moment at which the pods are asked for (podctl: its process
// is started) to the end of the last StartContainer, and to the end of the last
// sandbox's first successful StopPodSandbox. Medians over the rounds and the
// shortest times, each with its ratios.
//
//	bench -podctl bin/podctl -r unix:///run/x.sock [-only exits,relist] [-pods 1,20] [-rounds 5]
package main
