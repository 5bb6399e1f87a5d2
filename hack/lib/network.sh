# shellcheck shell=bash
# A bridge and a subnet of its own for each private runtime.

# iptables_works: the command may exist where the kernel lacks tables.
iptables_works() { iptables -w -t nat -S >/dev/null 2>&1; }

# setup_network chooses bridge and subnet once, and writes the CNI network.
# The bridge plugin makes the bridge itself with the first pod.
setup_network() {
	mount_shared
	[[ $(</proc/sys/net/ipv4/ip_forward) == 1 ]] || echo 1 >/proc/sys/net/ipv4/ip_forward ||
		say "cannot enable ip_forward: pods reach only this host"
	[[ -f $RUN/subnet ]] || choose_subnet
	mkdir -p "$RUN/cni"
	link_plugins
	write_cni "$(<"$RUN/bridge")" "$(<"$RUN/subnet")" >"$RUN/cni/10-podctl.conflist"
	if iptables_works; then
		network_rules | while read -r rule; do
			# shellcheck disable=SC2086 # a rule is words
			iptables -w -t ${rule/ / -C } 2>/dev/null || iptables -w -t ${rule/ / -A }
		done
	fi
}

# link_plugins makes the runtime's own directory of CNI plugins, in which a test may
# replace one.
link_plugins() {
	[[ ! -d $RUN/cni-bin ]] || return 0
	mkdir "$RUN/cni-bin"
	ln -s "$(cni_plugins)"/* "$RUN/cni-bin/"
}

# mount_shared: HostToContainer mounts need a shared root, as systemd makes it.
mount_shared() {
	if [[ $(findmnt -no PROPAGATION /) != *shared* ]]; then
		say "making / a shared mount, as systemd does (mountPropagation needs it)"
		mount --make-rshared /
	fi
}

# choose_subnet starts from the name, so that a name has the same addresses
# each time, and tries the next one while it is in use.
choose_subnet() {
	local hash third i
	hash=$(sha256sum <<<"$NAME")
	echo "pdc-${hash:0:8}" >"$RUN/bridge"
	for ((i = 0; i < 256; i++)); do
		third=$(((16#${hash:0:4} + i) % 256))
		if ! subnet_taken "10.201.$third"; then
			echo "10.201.$third" >"$RUN/subnet"
			return
		fi
	done
	die "no free subnet in 10.201.0.0/16"
}

subnet_taken() {
	grep -qxF "$1" "$RUN_BASE"/*/subnet 2>/dev/null || ip -4 -o addr | grep -qF " $1." ||
		ip -4 route | grep -qF "$1."
}

write_cni() {
	local bridge=$1 subnet=$2 portmap='[]'
	if iptables_works; then
		portmap='[{"type": "portmap", "capabilities": {"portMappings": true}}]'
	fi
	jq -n --arg name "$NETWORK" --arg bridge "$bridge" --arg subnet "$subnet.0/24" \
		--arg data "$LIB/cni" --argjson portmap "$portmap" '{
		cniVersion: "1.0.0", name: $name,
		plugins: ([{type: "bridge", bridge: $bridge, isGateway: true, hairpinMode: true,
			ipam: {type: "host-local", dataDir: $data,
				ranges: [[{subnet: $subnet}]], routes: [{dst: "0.0.0.0/0"}]}}] + $portmap)}'
}

# network_rules prints one iptables rule a line, "table chain …": pods reach
# the world, and each other where the host's policy is to drop.
network_rules() {
	local bridge subnet comment="-m comment --comment $NETWORK"
	bridge=$(<"$RUN/bridge") subnet=$(<"$RUN/subnet").0/24
	echo "nat POSTROUTING -s $subnet ! -o $bridge $comment -j MASQUERADE"
	echo "filter FORWARD -i $bridge $comment -j ACCEPT"
	echo "filter FORWARD -o $bridge $comment -j ACCEPT"
}

# clean_network removes links, rules and leases, also what CNI plugins made
# for pods that were not torn down.
clean_network() {
	local bridge link
	bridge=$(cat "$RUN/bridge" 2>/dev/null) || return 0
	for link in /sys/class/net/"$bridge"/brif/*; do
		ip link del "${link##*/}" 2>/dev/null || true
	done
	ip link del "$bridge" 2>/dev/null || true
	if iptables_works; then
		network_rules | while read -r rule; do
			# shellcheck disable=SC2086 # a rule is words
			while iptables -w -t ${rule/ / -D } 2>/dev/null; do :; done
		done
		clean_host_ports
	fi
	clean_crio_host_ports
	clean_cni_results
}

# clean_host_ports removes the chains that portmap made for our network's pods. The
# rules are full of quotes, which iptables-restore reads as iptables -S writes them.
clean_host_ports() {
	local dnat ours
	dnat=$(iptables -w -t nat -S CNI-HOSTPORT-DNAT 2>/dev/null) || return 0
	if ours=$(grep -F "name: \\\"$NETWORK\\\"" <<<"$dnat"); then
		edit_nat <<-EOF
			${ours//-A CNI-/-D CNI-}
			$(awk '{print "-F", $NF; print "-X", $NF}' <<<"$ours" | sort -u)
		EOF
	fi
	[[ $(names) != "$NAME" ]] || clean_portmap
}

# clean_portmap removes portmap's own chains, which the plugin never does, when no
# network uses them. Only with the last private runtime: another may be about to.
clean_portmap() {
	[[ $(iptables -w -t nat -S CNI-HOSTPORT-DNAT) == "-N CNI-HOSTPORT-DNAT" ]] || return 0
	edit_nat <<-EOF
		$(iptables -w -t nat -S | grep -E '^-A (PREROUTING|OUTPUT|POSTROUTING) .*-j CNI-HOSTPORT-' | sed 's/^-A/-D/')
		$(printf -- '-F CNI-HOSTPORT-%s\n' DNAT MASQ SETMARK)
		$(printf -- '-X CNI-HOSTPORT-%s\n' DNAT MASQ SETMARK)
	EOF
}

# clean_crio_host_ports removes what CRI-O's table holds for our subnet's pods, and
# the table when it holds nothing else: CRI-O adds it with each port.
clean_crio_host_ports() {
	local table subnet elements
	subnet=$(<"$RUN/subnet")
	table=$(nft -j list table ip crio-hostports 2>/dev/null) || return 0
	elements=$(jq -r --arg subnet "$subnet." '
		.nftables[] | (.map // .set) | select(.elem) | .name as $set | .elem[]
		| (if type == "array" then {key: .[0].elem.val, value: .[1]} else {key: .elem.val} end)
		| [.key.concat[], (.value.concat // [])[]] as $fields
		| select(any($fields[]; tostring | startswith($subnet)))
		| "delete element ip crio-hostports \($set) { \([.key.concat[] | tostring] | join(" . ")) }"' <<<"$table")
	[[ -z $elements ]] || nft -f - <<<"$elements"
	nft -j list table ip crio-hostports | jq -e 'all(.nftables[] | (.map // .set // {}); has("elem") | not)' >/dev/null ||
		return 0
	nft delete table ip crio-hostports
}

edit_nat() { { echo '*nat' && cat && echo COMMIT; } | iptables-restore -w --noflush; }

# clean_cni_results: libcni remembers each attachment in /var/lib/cni/results,
# wherever the runtime keeps its own state.
clean_cni_results() {
	local file id dir=/var/lib/cni/results
	[[ -d $dir ]] || return 0
	find "$dir" -regextype posix-extended -regex ".*/$NETWORK-[0-9a-f]{64}-[^/]*" | while read -r file; do
		id=$(grep -oE '[0-9a-f]{64}' <<<"${file##*/}" | tail -n 1)
		rm -f "$file" "$dir/cni-loopback-$id-lo"
	done
	rmdir --ignore-fail-on-non-empty "$dir" /var/lib/cni 2>/dev/null || true
}
