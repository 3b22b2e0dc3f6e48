# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Where the test kernels live.  Sourced, never run.
#
# $kernel_cache/<K>/ holds one kernel, K being a series as below, or debug:
#   release     its "uname -r"; written last, so a directory with it is complete
#   vmlinuz     the bootable image
#   build       a tree for "make -C build M=..."
#   root/       its /lib/modules
#   initrd      busybox and the modules that mount the root file system
#
# Of a newer kernel that is not the newest there is no vmlinuz and no initrd.

# The kernels of the module tests; "debug" comes from scripts/debug-kernel.
# shellcheck disable=SC2034
stock_kernels=(6.1 6.12)

# Those that Debian backports to its next release, oldest first: the module is built for all
# of them, and a few tests run on the newest.
# shellcheck disable=SC2034
newer_kernels=(7.2 7.3)
newest_kernel=${newer_kernels[-1]}

kernel_cache=${PERFGUARD_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/perfguard}/kernels

# The modules that the guest needs before it has a root file system.
boot_modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay)

kernel_ready()
{
	[ -s "$kernel_cache/$1/release" ]
}

# kernel_initrd DIR RELEASE: make DIR/initrd from DIR/root.  It has no /init:
# scripts/vm appends one for each run.
kernel_initrd()
{
	local dir=$1 release=$2 tree=$1/initrd.d module file

	rm -rf "$tree"
	mkdir -p "$tree"/{bin,dev,proc,sys,modules,ro,rw,root}
	cp "$(command -v busybox)" "$tree/bin/busybox"
	: > "$tree/modules/order"
	for module in "${boot_modules[@]}"; do
		modprobe -d "$dir/root" -S "$release" --show-depends "$module"
	done | while read -r how file _; do
		[ "$how" = insmod ] || continue
		! grep -qxF "${file##*/}" "$tree/modules/order" || continue
		cp "$file" "$tree/modules/"
		echo "${file##*/}" >> "$tree/modules/order"
	done
	(cd "$tree" && find . | cpio --quiet -o -H newc) > "$dir/initrd"
	rm -rf "$tree"
}

debian_mirror()
{
	local uri

	uri=$(apt-get indextargets --format "\$(ORIGIN) \$(REPO_URI)" 'Created-By: Packages' 2> /dev/null |
		awk '$1 == "Debian" && $2 ~ /^https?:/ && $2 !~ /security/ { print $2; exit }')
	echo "${uri:-http://deb.debian.org/debian/}"
}

# apt_state DIR SUITE: from here on apt knows that release of Debian and works
# below DIR only.  Neither the machine's sources nor its packages change, and
# no right of root is needed.
apt_state()
{
	local work=$1 suite=$2 base
	local key=/usr/share/keyrings/debian-archive-keyring.gpg

	base=$(debian_mirror)
	base=${base%/}
	mkdir -p "$work"/apt/{lists/partial,archives/partial}
	: > "$work/apt/status"
	cat > "$work/apt/sources.list" <<-EOF
	deb [signed-by=$key] $base $suite main
	deb [signed-by=$key] $base-security $suite-security main
	deb [signed-by=$key] $base $suite-backports main
	EOF
	cat > "$work/apt/apt.conf" <<-EOF
	Dir::State "$work/apt";
	Dir::State::status "$work/apt/status";
	Dir::State::lists "$work/apt/lists";
	Dir::Cache "$work/apt";
	Dir::Cache::archives "$work/apt/archives";
	Dir::Etc::SourceList "$work/apt/sources.list";
	Dir::Etc::SourceParts "/dev/null";
	Dir::Etc::Preferences "/dev/null";
	Dir::Etc::PreferencesParts "/dev/null";
	APT::Architecture "amd64";
	APT::Sandbox::User "root";
	APT::Update::Post-Invoke-Success "";
	Acquire::Languages "none";
	Acquire::Check-Valid-Until "false";
	Acquire::Retries "3";
	Acquire::http::Timeout "30";
	EOF
	export APT_CONFIG=$work/apt/apt.conf
	timeout 300 apt-get -qq update || {
		echo "${0##*/}: $base cannot be reached" >&2
		return 1
	}
}
