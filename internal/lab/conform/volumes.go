package conform

import (
	"slices"
	"strings"
)

// fields are the words of a text.
func fields(text string) []string { return strings.Fields(text) }

// at returns the last mount at a path.
func (f Facts) at(point string) Mount {
	for _, m := range slices.Backward(f.Mounts) {
		if m.Point == point {
			return m
		}
	}
	return Mount{}
}

// readOnly reports whether a mount is read-only.
func (m Mount) readOnly() bool { return slices.Contains(strings.Split(m.Options, ","), "ro") }

var volumes = []Behaviour{
	{
		Name: "emptydir", About: "an emptyDir has mode 0777, is shared by the containers, and survives a restart of one",
		Spec: `restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
initContainers: [{name: i, args: ["write:/v/first=kept"], volumeMounts: [{name: v, mountPath: /v}]}]
containers: [{name: c, args: ["once:/v/again=7", "read:/v/first", "facts:/v"], volumeMounts: [{name: v, mountPath: /v}]}]
`,
		Judge: func(s *Observation, c *Check) {
			v := s.facts(c, "c").Files["/v"]
			c.Equal("its mode", v.Mode, "drwxrwxrwx")
			c.Equal("its content", v.Entries, []string{"again", "first"})
			c.Equal("what the second attempt read", s.text("c"), []string{"kept"})
			c.Equal("restarts", s.container("c").RestartCount, int32(1))
		},
	},
	{
		Name: "emptydir-memory", About: "an emptyDir of medium Memory is a tmpfs of its sizeLimit",
		Spec: `volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 16Mi}}]
containers: [{name: c, args: ["facts:/v"], volumeMounts: [{name: v, mountPath: /v}]}]
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("its file system", f.at("/v").Type, "tmpfs")
			c.Equal("its size", f.Files["/v"].Size, int64(16<<20))
		},
	},
	{
		Name: "subpath", About: "subPath and subPathExpr mount a directory and a file of a volume",
		Spec: `volumes: [{name: v, emptyDir: {}}, {name: m, configMap: {name: subpath}}]
initContainers: [{name: i, args: ["write:/d/x=1"], volumeMounts: [{name: v, mountPath: /d, subPath: dir}]}]
containers:
- name: c
  env: [{name: WHERE, value: dir}]
  args: ["facts:/d,/etc/one", "read:/d/x", "read:/etc/one"]
  volumeMounts: [{name: v, mountPath: /d, subPathExpr: $(WHERE)}, {name: m, mountPath: /etc/one, subPath: one}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: subpath, namespace: podctl-conform}, data: {one: first, two: second}}
`,
		Judge: func(s *Observation, c *Check) {
			c.Equal("what was read", s.text("c"), []string{"1", "first"})
			c.Equal("the directory", s.facts(c, "c").Files["/d"].Entries, []string{"x"})
		},
	},
	{
		Name: "projected", About: "a projected volume of a configMap, a secret and fields, with modes",
		Spec: `volumes:
- name: v
  projected:
    defaultMode: 0440
    sources:
    - {configMap: {name: projected, items: [{key: k, path: a/k}]}}
    - {secret: {name: projected, items: [{key: s, path: s, mode: 0400}]}}
    - {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
containers: [{name: c, args: ["facts:/v/a/k,/v/s,/v/name"], volumeMounts: [{name: v, mountPath: /v}]}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: projected, namespace: podctl-conform}, data: {k: value}}
---
{apiVersion: v1, kind: Secret, metadata: {name: projected, namespace: podctl-conform}, stringData: {s: hidden}}
`,
		Judge: func(s *Observation, c *Check) {
			files := s.facts(c, "c").Files
			for path, want := range map[string]File{"/v/a/k": {Mode: "-r--r-----", Content: "value"}, "/v/s": {Mode: "-r--------", Content: "hidden"}, "/v/name": {Mode: "-r--r-----", Content: "projected"}} {
				c.Equal(path, [2]string{files[path].Mode, files[path].Content}, [2]string{want.Mode, want.Content})
			}
		},
	},
	{
		Name: "secret", About: "a secret is in memory, read-only; optional keys may be missing",
		Spec: `volumes: [{name: v, secret: {secretName: secret, defaultMode: 0400}}, {name: none, configMap: {name: nowhere, optional: true}}]
containers: [{name: c, args: ["facts:/v/s,/none", "write:/v/s=x"], volumeMounts: [{name: v, mountPath: /v}, {name: none, mountPath: /none}]}]
---
{apiVersion: v1, kind: Secret, metadata: {name: secret, namespace: podctl-conform}, stringData: {s: hidden}}
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.Equal("its file system", f.at("/v").Type, "tmpfs")
			c.That(f.at("/v").readOnly(), "/v is writable")
			c.Equal("its mode", f.Files["/v/s"].Mode, "-r--------")
			for _, name := range f.Files["/none"].Entries {
				c.That(strings.HasPrefix(name, ".."), "the missing map has %s", name)
			}
			c.That(len(s.text("c")) == 1, "the secret was written")
		},
	},
	{
		Name: "fsgroup", About: "fsGroup owns volumes, and the process has it",
		Spec: `securityContext: {runAsUser: 1000, runAsGroup: 1001, fsGroup: 2000}
volumes: [{name: v, emptyDir: {}}, {name: m, configMap: {name: fsgroup, defaultMode: 0400}}]
containers: [{name: c, args: ["write:/v/x=1", "facts:/v,/v/x,/m/k"], volumeMounts: [{name: v, mountPath: /v}, {name: m, mountPath: /m}]}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: fsgroup, namespace: podctl-conform}, data: {k: value}}
`,
		Judge: func(s *Observation, c *Check) {
			f := s.facts(c, "c")
			c.That(slices.Contains(f.Groups, 2000), "the groups %v do not have 2000", f.Groups)
			c.Equal("the group of the volume", f.Files["/v"].GID, 2000)
			c.Equal("the group of a file in it", f.Files["/v/x"].GID, 2000)
			c.Equal("the group of a configMap's file", f.Files["/m/k"].GID, 2000)
			c.Equal("its content", f.Files["/m/k"].Content, "value")
		},
	},
	{
		Name: "read-only-mounts", About: "readOnly, and recursiveReadOnly where the runtime has it",
		Spec: `volumes: [{name: v, emptyDir: {}}]
containers:
- name: c
  args: ["facts:/ro", "write:/ro/x=1", "write:/rw/x=1"]
  volumeMounts: [{name: v, mountPath: /ro, readOnly: true, recursiveReadOnly: IfPossible}, {name: v, mountPath: /rw}]
`,
		Judge: func(s *Observation, c *Check) {
			c.That(s.facts(c, "c").at("/ro").readOnly(), "/ro is writable")
			c.That(len(s.text("c")) == 1, "what was written: %q", s.text("c"))
		},
	},
	{
		Name: "image-volume", About: "an image is mounted as a read-only volume",
		Spec: `volumes: [{name: v, image: {reference: "IMAGE", pullPolicy: Never}}]
containers: [{name: c, args: ["facts:/v", "write:/v/x=1"], volumeMounts: [{name: v, mountPath: /v}]}]
`,
		Judge: func(s *Observation, c *Check) {
			v := s.facts(c, "c").Files["/v"]
			c.That(len(v.Entries) > 0, "it is empty: %s", v.Err)
			c.That(len(s.text("c")) == 1, "it is writable")
		},
	},
}
