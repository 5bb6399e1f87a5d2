// Package credential finds the credentials that an image is pulled with.
//
//	imagePullSecrets ─► Keyring ──────────────────────────┐
//	docker config files ─► Files ─┬─ auths ───────────────┼─► AuthConfigs, tried in this order
//	                              └─ credential helpers ──┤
//	credential provider plugins ─► Plugins ───────────────┘
//
// A Keyring is pure. Files and Plugins are read for each pull, so that a changed
// file takes effect at once; they run programs, each bounded in time and output, and
// may block that long. Plugins own a cache of what the plugins returned. No error,
// log line or String method of this package contains a password.
//
// Differs from the kubelet in: docker config files may name credential helpers
// (credHelpers, credsStore) and hold identity tokens, which the kubelet does not read;
// a config.json in the working directory is not read. The rules are those of
// pkg/credentialprovider and pkg/credentialprovider/plugin.
package credential
