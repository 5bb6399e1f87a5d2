# shellcheck shell=bash
# The OCI runtimes runc and crun.

install_crun() { install_packages crun crun; }

has_crun() { command -v crun >/dev/null; }

# V2_CONTROLLERS are those of cgroup v2 where v1 is mounted, too.
V2_CONTROLLERS=/sys/fs/cgroup/unified/cgroup.controllers

# limits_huge_pages reports whether the kernel can limit huge pages by cgroup.
limits_huge_pages() {
	[[ -d /sys/fs/cgroup/hugetlb ]] || grep -qsw hugetlb /sys/fs/cgroup/cgroup.controllers
}

# oci_runtime prints the path of runc or crun, or of a wrapper for what there is no switch
# for: on a host that may not lower an oom_score_adj it raises a negative one to 0, and
# takes the capability for that, which the host lacks, from processes; where the kernel has
# no limits of huge pages it drops them; crun gets the one version of the specification
# that it knows before 1.14.3, and where cgroup v1 and v2 are mounted, which it refuses if
# v2 has a controller, it sees none there.
oci_runtime() {
	local name=$1 start process=. config=.
	start=$(command -v "$name")
	may_raise_priority ||
		process='if (.oomScoreAdj // 0) < 0 then .oomScoreAdj = 0 else . end | .capabilities[]? -= ["CAP_SYS_RESOURCE"]'
	limits_huge_pages || config='del(.linux.resources.hugepageLimits)'
	if [[ $name == crun ]]; then
		config+=' | .ociVersion = "1.0.0" | del(.linux.resources.pids | select(.limit < 0))'
		[[ ! -e $V2_CONTROLLERS ]] ||
			start="unshare --mount --propagation slave sh -c 'mount --bind /dev/null $V2_CONTROLLERS && exec $start \"\$@\"' crun"
	fi
	if [[ $process == . && $config == . ]]; then
		echo "$start"
		return
	fi
	cat >"$RUN/$name.sh" <<-EOF
		#!/bin/bash
		change() { jq -c "\$2" "\$1" >"\$1.new" && mv "\$1.new" "\$1"; }
		previous=
		for argument; do
			case \$previous in
			--bundle | -b) change "\$argument/config.json" '.process |= ($process) | $config' ;;
			--process | -p) change "\$argument" '$process' ;;
			esac
			previous=\$argument
		done
		exec $start "\$@"
	EOF
	chmod +x "$RUN/$name.sh"
	echo "$RUN/$name.sh"
}
