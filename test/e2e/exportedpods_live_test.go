package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// exported is a pod as kubectl prints it of a cluster of v1.36.
const exported = `
apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: "2026-03-01T12:00:00Z"
  generateName: web-6d8c7f9b54-
  generation: 1
  labels: {app: web, pod-template-hash: 6d8c7f9b54}
  name: web-6d8c7f9b54-x7k2p
  namespace: shop
  ownerReferences:
  - {apiVersion: apps/v1, blockOwnerDeletion: true, controller: true, kind: ReplicaSet, name: web-6d8c7f9b54, uid: 5c6b2c1e-13c3-4a44-8a5e-3a4f5d7f1a01}
  resourceVersion: "812345"
  uid: 2f7d9a34-9a7e-4a3a-9f5e-4be2f9f1b7c2
spec:
  containers:
  - command: [sh, -c, 'cd /var/run/secrets/kubernetes.io/serviceaccount 2>/dev/null || { echo no account; exit; }; for f in *; do echo "$f=$(stat -Lc %a,%u,%g $f),$(cat $f)"; done']
    image: docker.io/library/busybox:latest
    imagePullPolicy: IfNotPresent
    name: c
    resources: {}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    volumeMounts:
    - {mountPath: /var/run/secrets/kubernetes.io/serviceaccount, name: kube-api-access-jx6dv, readOnly: true}
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  nodeName: node-1
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  restartPolicy: Never
  schedulerName: default-scheduler
  securityContext: {runAsUser: 1000}
  serviceAccount: default
  serviceAccountName: default
  terminationGracePeriodSeconds: 30
  tolerations:
  - {effect: NoExecute, key: node.kubernetes.io/not-ready, operator: Exists, tolerationSeconds: 300}
  volumes:
  - name: kube-api-access-jx6dv
    projected:
      defaultMode: 420
      sources:
      - serviceAccountToken: {expirationSeconds: 3607, path: token}
      - configMap: {items: [{key: ca.crt, path: ca.crt}], name: kube-root-ca.crt}
      - downwardAPI: {items: [{fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}, path: namespace}]}
status: {observedGeneration: 1, phase: Running, podIP: 10.244.1.7, qosClass: BestEffort}
`

// A pod that was exported from a cluster runs as it is, and with --service-account has
// its token, without it or with it.
func TestExportedPodRunsWithAndWithoutToken(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		token := p.path("token")
		if err := os.WriteFile(token, []byte("the.token\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		const ca = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt, namespace: shop}\ndata: {ca.crt: certificates}\n"
		for _, tt := range []struct {
			manifest string
			args     []string
			lines    string
		}{
			{exported, nil, "no account"},
			{exported, []string{"--service-account=ignore"}, "namespace=644,0,0,shop"},
			{exported, []string{"--service-account=" + token}, "namespace=644,0,0,shop token=600,1000,0,the.token"},
			{exported + ca, []string{"--service-account=" + token}, "ca.crt=644,0,0,certificates namespace=644,0,0,shop token=600,1000,0,the.token"},
		} {
			out, errw, code := p.run(tt.manifest, append(tt.args, "--logs", "-")...)
			var lines []string
			for line := range strings.SplitSeq(out, "\n") {
				if _, text, ok := strings.Cut(line, "/c | "); ok {
					lines = append(lines, text)
				}
			}
			if code != 0 || strings.Join(lines, " ") != tt.lines || strings.Count(errw, "exported from a cluster") != 1 {
				t.Errorf("%v: exit %d, %q, want %q\n%s%s", tt.args, code, lines, tt.lines, out, errw)
			}
		}
	})
}

// The volume of a generic ephemeral claim is the containers' to write, and goes with
// its pod.
func TestEphemeralVolumeFromInside(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		manifest := mounting("web", "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}}",
			"echo kept > /v/f; cat /v/f; stat -c '%a,%u,%g' /v", "securityContext: {runAsUser: 1000, fsGroup: 2000}")
		out, errw, code := p.run(manifest, "--logs", "-")
		if code != 0 || !strings.Contains(out, "| kept") || !strings.Contains(out, "| 2777,0,2000") {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		claim := strings.Replace(objects[strings.Index(objects, "apiVersion: v1\nkind: Persist"):], "name: data", "name: web-v", 1)
		out, errw, code = p.run(claim+manifest, "--wait-timeout", "15s", "-")
		if code == 0 || !strings.Contains(out+errw, `MountVolume.SetUp failed for volume "v" : PVC default/web-v was not created for pod default/web (pod is not owner)`) {
			t.Errorf("a claim of the same name: exit %d\n%s%s", code, out, errw)
		}
	})
}
