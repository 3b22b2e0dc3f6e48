#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The packages on a Debian with systemd, in a virtual machine with a disk:
# installed by apt, the module built by DKMS, refused where only trusted keys
# count, the service enabled, rebooted, a newer kernel installed, all removed.
# tests/deb/guest is what runs there.
#
# STAGES   some of the stages, on
# DISK     the file of a disk where the ones before them were run

set -u
# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
here=$(cd "${0%/*}" && pwd)
deb=$here/../../build/deb
# shellcheck source-path=SCRIPTDIR source=../../scripts/kernels.sh
. "$here/../../scripts/kernels.sh"
read -ra stages <<< "${STAGES:-install locked guard boot kernel newer}"
checks=${#stages[@]}
for stage in "${stages[@]}"; do
	checks=$((checks + $(sed -n "/^stage_$stage()/,/^}/p" "$here/guest" | grep -cE '^	(try|ok) ')))
done
plan "$checks"

fail()
{
	echo "Bail out! $1"
	exit 1
}

kernel_arguments()
{
	echo -n console=ttyS0 panic=-1 oops=panic panic_on_warn=1 mitigations=off tsc=reliable \
		random.trust_cpu=on stage="$1"
	[ "$1" != locked ] || echo -n " lockdown=integrity"
}

# initrd KERNEL: the modules that mount a disk, and an init that does.
initrd()
{
	mkdir -p "$scratch/$1"
	ln -s "$kernel_cache/$1/root" "$scratch/$1/root"
	kernel_initrd "$scratch/$1" "$(< "$kernel_cache/$1/release")"
	mkdir -p "$scratch/$1/more"
	cat > "$scratch/$1/more/init" <<-'EOF'
	#!/bin/busybox sh
	b=/bin/busybox
	set -e
	$b mount -t proc proc /proc
	$b mount -t sysfs sys /sys
	$b mount -t devtmpfs dev /dev
	while read -r module; do
		$b insmod "/modules/$module"
	done < /modules/order
	$b mount -t ext4 /dev/vda /root
	for dir in proc sys dev; do
		$b mount -o move "/$dir" "/root/$dir"
	done
	exec $b switch_root /root /sbin/init
	EOF
	chmod 755 "$scratch/$1/more/init"
	(cd "$scratch/$1/more" && echo init | cpio --quiet -o -H newc) >> "$scratch/$1/initrd"
}

# run_stage STAGE KERNEL: boot, and take what the guest reports.
run_stage()
{
	local line is_done=1

	# With a thread for each of its processors QEMU hangs now and then.  Its hash table of
	# translated code is so large that a look-up misses the TLB.
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 timeout "${STAGE_SECONDS:-5400}" qemu-system-x86_64 -nodefaults -no-user-config -no-reboot \
		-display none -vga none -net none -accel tcg,thread=single,tb-size=512 -smp 2 -m 2048 -rtc base=utc \
		-cpu qemu64,+smep,+smap,+nx,+rdtscp,+ssse3,+sse4.1,+sse4.2,+popcnt,+fsgsbase \
		-kernel "$kernel_cache/$2/vmlinuz" -initrd "$scratch/$2/initrd" \
		-append "$(kernel_arguments "$1")" \
		-chardev "file,id=console,path=$scratch/$1.console" -serial chardev:console \
		-drive "file=$scratch/disk,if=virtio,format=qcow2,cache=unsafe" -device virtio-serial-pci \
		-chardev "file,id=report,path=$scratch/$1.report" \
		-device virtserialport,chardev=report,name=report \
		-virtfs "local,path=$here,mount_tag=tests,security_model=none,readonly=on" \
		-virtfs "local,path=$scratch/packages,mount_tag=packages,security_model=none,readonly=on" \
		-virtfs "local,path=$ccache,mount_tag=ccache,security_model=none,readonly=on" \
		2> "$scratch/$1.qemu" < /dev/null
	while read -r line; do
		case $line in
		'ok - '*) ok 0 "$1: ${line#ok - }" ;;
		'not ok - '*) ok 1 "$1: ${line#not ok - }" ;;
		done) is_done=0 ;;
		*) echo "$line" ;;
		esac
	done < "$scratch/$1.report"
	! grep -qE 'Kernel panic|Call Trace:' "$scratch/$1.console" || is_done=1
	ok $is_done "$1: to its end, without an error of the kernel"
	[ $is_done = 0 ] || tail -n 30 "$scratch/$1.console" "$scratch/$1.qemu" | sed 's/^/# /'
}

# fill_ccache: the module is built by DKMS in a copy of the disk, on this machine, for both kernels.
# What the compiler makes is in $ccache then, where the guest's ccache finds it: QEMU takes half
# an hour to compile it once.  What is not there the guest compiles itself.
fill_ccache()
{
	local root=$scratch/root

	[ ! -e "$ccache/is-filled" ] || return 0
	mkdir -p "$scratch"/{lower,upper,work,root} "$ccache"
	# The mounts end with the shell.
	# shellcheck disable=SC2016
	DISK=$disk ROOT=$root SCRATCH=$scratch CCACHE=$ccache HERE=$here unshare -m bash -c '
	set -e
	mount -o loop,ro "$DISK" "$SCRATCH/lower"
	mount -t overlay overlay -o "lowerdir=$SCRATCH/lower,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" "$ROOT"
	mount -t proc proc "$ROOT/proc"
	mount --bind /dev "$ROOT/dev"
	mount -t tmpfs run "$ROOT/run"
	mkdir "$ROOT"/run/{packages,ccache,tests}
	mount --bind "$SCRATCH/packages" "$ROOT/run/packages"
	mount --bind "$CCACHE" "$ROOT/run/ccache"
	mount --bind "$HERE" "$ROOT/run/tests"
	chroot "$ROOT" env -i HOME=/root bash /run/tests/fill-ccache
	touch "$CCACHE/is-filled"
	' > "$scratch/log" 2>&1 || {
		echo "# the guest compiles the module itself:"
		tail -n 5 "$scratch/log" | sed 's/^/# /'
	}
	rm -rf --one-file-system "$scratch/upper" "$scratch/work"
}

debs=("$deb"/perfguard_*.deb "$deb"/perfguard-dkms_*.deb)
[ -e "${debs[0]}" ] || fail "there are no packages; make deb"
disk=$("$here/make-disk" "${debs[@]}") || fail "there is no disk"
mkdir "$scratch/packages"
cp "${debs[@]}" "$scratch/packages/"
cp "$kernel_cache/6.1/release" "$scratch/packages/older"
cp "$kernel_cache/6.12/release" "$scratch/packages/newer"
# One for each build of the packages; those of before are not wanted again.
ccache=${disk%.ext4}.ccache-$(sha256sum < "${debs[1]}" | cut -c 1-16)
find "${disk%/*}" -maxdepth 1 -name '*.ccache-*' ! -path "$ccache" -exec rm -rf {} +
fill_ccache
[ -z "${DISK-}" ] || ln -s "$DISK" "$scratch/disk"
[ -e "$scratch/disk" ] || qemu-img create -q -f qcow2 -F raw -b "$disk" "$scratch/disk"
# shellcheck disable=SC2034 # kernel_initrd reads it
boot_modules=(virtio_pci virtio_blk ext4)
initrd 6.1
initrd 6.12
for stage in "${stages[@]}"; do
	run_stage "$stage" "$([ "$stage" = newer ] && echo 6.12 || echo 6.1)"
done
finish
