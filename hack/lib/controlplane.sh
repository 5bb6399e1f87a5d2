# shellcheck shell=bash
# A Kubernetes control plane of one machine: etcd, kube-apiserver,
# kube-controller-manager and kube-scheduler on the loopback.

CONTROL_PLANE_DIR=$CACHE/control-plane-$KUBERNETES_VERSION
CLUSTER=/var/lib/podctl-cluster
API_PORT=16443
NODE_NAME=node-1

install_control_plane() {
	install_packages openssl openssl
	[[ -d $CONTROL_PLANE_DIR ]] || say "building the control plane $KUBERNETES_VERSION, once: this takes ten minutes or more"
	once "$CONTROL_PLANE_DIR" go_build_control_plane || unsupported "cannot build the control plane $KUBERNETES_VERSION"
}

# go_build_control_plane builds etcd with the version that the API server is built
# with.
go_build_control_plane() {
	build_kubernetes "$1" go.etcd.io/etcd/server/v3 k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubectl} &&
		mv "$1/server" "$1/etcd"
}

# make_pki makes an authority, a certificate for each component, and the key of
# service accounts' tokens.
make_pki() {
	local name subject
	mkdir -p "$CLUSTER/pki" "$CLUSTER/log" && cd "$CLUSTER/pki" || return
	quietly openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout ca.key -out ca.crt -subj /CN=podctl-cluster
	while read -r name subject; do
		quietly openssl req -newkey rsa:2048 -nodes -keyout "$name.key" -out "$name.csr" -subj "$subject"
		printf 'subjectAltName=DNS:%s,IP:127.0.0.1,IP:10.96.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' "$name" >"$name.ext"
		quietly openssl x509 -req -in "$name.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$name.crt" -extfile "$name.ext"
		write_kubeconfig "$name" >"$name.conf"
	done <<-EOF
		apiserver /CN=kube-apiserver
		kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
		admin /O=system:masters/CN=admin
		kcm /CN=system:kube-controller-manager
		scheduler /CN=system:kube-scheduler
		node /O=system:nodes/CN=system:node:$NODE_NAME
	EOF
	quietly openssl genrsa -out sa.key 2048
	quietly openssl rsa -in sa.key -pubout -out sa.pub
}

write_kubeconfig() {
	cat <<-EOF
		apiVersion: v1
		kind: Config
		clusters: [{name: podctl, cluster: {server: "https://127.0.0.1:$API_PORT", certificate-authority: $CLUSTER/pki/ca.crt}}]
		users: [{name: user, user: {client-certificate: $CLUSTER/pki/$1.crt, client-key: $CLUSTER/pki/$1.key}}]
		contexts: [{name: podctl, context: {cluster: podctl, user: user}}]
		current-context: podctl
	EOF
}

# component runs a program of the control plane in a session of its own.
#   component PROGRAM FLAG …
component() { background "$CONTROL_PLANE_DIR/$1" "${@:2}"; }

# background runs a program of the cluster until the cluster is taken down.
#   background PATH ARGUMENT …
background() {
	local name=${1##*/}
	setsid "$@" </dev/null >>"$CLUSTER/log/$name" 2>&1 9>&- &
	echo $! >"$CLUSTER/$name.pid"
	disown
}

start_control_plane() {
	local pki=$CLUSTER/pki i
	component etcd --data-dir="$CLUSTER/etcd" --unsafe-no-fsync --listen-client-urls=http://127.0.0.1:12379 \
		--advertise-client-urls=http://127.0.0.1:12379 --listen-peer-urls=http://127.0.0.1:12380
	component kube-apiserver --etcd-servers=http://127.0.0.1:12379 --bind-address=127.0.0.1 --secure-port="$API_PORT" \
		--advertise-address=127.0.0.1 --endpoint-reconciler-type=none --authorization-mode=Node,RBAC --allow-privileged=true \
		--tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
		--kubelet-client-certificate="$pki/kubelet-client.crt" --kubelet-client-key="$pki/kubelet-client.key" \
		--kubelet-preferred-address-types=InternalIP \
		--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/sa.pub" \
		--service-account-signing-key-file="$pki/sa.key" --service-cluster-ip-range=10.96.0.0/16
	for i in {1..60}; do
		! kubectl get --raw /readyz >/dev/null 2>&1 || break
		if ((i == 60)) || [[ ! -d /proc/$(<"$CLUSTER/kube-apiserver.pid") ]]; then
			die "the API server did not become ready; its log is $CLUSTER/log/kube-apiserver"
		fi
		sleep 1
	done
	component kube-controller-manager --kubeconfig="$pki/kcm.conf" --leader-elect=false --use-service-account-credentials \
		--service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" --bind-address=127.0.0.1 --secure-port=16257
	component kube-scheduler --kubeconfig="$pki/scheduler.conf" --leader-elect=false --bind-address=127.0.0.1 --secure-port=16259
}

kubectl() { "$CONTROL_PLANE_DIR/kubectl" --kubeconfig="$CLUSTER/pki/admin.conf" "$@"; }

# node_flags prints the flags with which the kubelet joins the cluster: it asks the
# API server who a client is and what it may do. It listens at the address by which
# the API server reaches its node.
node_flags() {
	printf '%s\n' --kubeconfig="$CLUSTER/pki/node.conf" --hostname-override="$NODE_NAME" --address=0.0.0.0 --read-only-port=0 --anonymous-auth=false \
		--authentication-token-webhook=true --authorization-mode=Webhook --client-ca-file="$CLUSTER/pki/ca.crt"
}

# stop_control_plane stops the control plane, and whatever background has started.
stop_control_plane() {
	local file
	for file in "$CLUSTER"/*.pid; do
		[[ ! -f $file ]] || stop_background "$(basename "$file" .pid)" KILL
	done
	rm -rf --one-file-system "$CLUSTER"
}

# stop_background sends a signal to a program by its name: a pid alone may belong to
# another.
#   stop_background NAME SIGNAL
stop_background() {
	local pid exe
	pid=$(cat "$CLUSTER/$1.pid" 2>/dev/null) || return 0
	exe=$(readlink "/proc/$pid/exe" || true)
	exe=${exe% (deleted)}
	[[ ${exe##*/} != "$1" ]] || kill -"$2" "$pid" || true
}

need_no_cluster() {
	[[ ! -d $CLUSTER ]] || die "the cluster is up, or was not taken down: hack/cluster down"
}
