#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make uninstall removes what make install placed, all of it and nothing else.

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
cd "${0%/*}/../.." || exit 1
# What an outer make was given is not for these.
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$scratch/root
version=$("$program" --version | cut -d ' ' -f 2)
plan 23

# install_with TARGET [VARIABLE=VALUE...]
install_with()
{
	make -s "$@" DESTDIR="$root" > "$scratch/log" 2>&1 || sed 's/^/# /' "$scratch/log"
}

there()
{
	[ -e "$root/$1" ]
	ok $? "there is $1"
}

# Neighbours that others placed.
mkdir -p "$root"/usr/{bin,src/other-0.1} "$root"/usr/share/man/man1 "$root/etc"
touch "$root/usr/bin/other" "$root/usr/src/other-0.1/dkms.conf" "$root/usr/share/man/man1/other.1"
find "$root" ! -type d | sort > "$scratch/before"

install_with install PREFIX=/usr
for file in usr/bin/pg-collect usr/share/man/man1/pg-collect-audit.1 \
	usr/share/bash-completion/completions/pg-collect usr/share/zsh/site-functions/_pg-collect \
	usr/share/perfguard/perfguard.rules.yml usr/share/perfguard/perfguard-dashboard.json \
	usr/share/perfguard/pg-collect-1.json \
	usr/lib/systemd/catalog/perfguard.catalog \
	usr/lib/systemd/system/perfguard.service etc/perfguard/perfguard.conf etc/perfguard/profiles.d \
	"usr/src/perfguard-$version/kmod/main.c" "usr/src/perfguard-$version/dkms.conf"; do
	there "$file"
done
[ -x "$root/usr/bin/pg-collect" ] && [ "$("$root/usr/bin/pg-collect" --version)" = "pg-collect $version" ]
ok $? "what is installed runs"
grep -q "^PACKAGE_VERSION=\"$version\"$" "$root/usr/src/perfguard-$version/dkms.conf"
ok $? "DKMS and pg-collect know one version"

mkdir -p "$root/var/lib/dkms/perfguard/$version"
! make -s uninstall PREFIX=/usr DESTDIR="$root" > "$scratch/log" 2>&1 &&
	grep -q "dkms remove perfguard/$version --all" "$scratch/log" && [ -e "$root/usr/bin/pg-collect" ]
ok $? "no removal while DKMS has modules of it"
rm -r "${root:?}/var"

install_with uninstall PREFIX=/usr
find "$root" ! -type d | sort | diff "$scratch/before" - > "$scratch/diff"
ok $? "all files are removed, and no other one"
sed 's/^/# /' "$scratch/diff"
[ -z "$(find "$root" -path '*perfguard*')" ]
ok $? "and the directories"

install_with install
grep -q "^ExecStart=/usr/local/bin/pg-collect" "$root/usr/local/lib/systemd/system/perfguard.service"
ok $? "the unit starts what was installed, below /usr/local too"
echo "# changed" >> "$root/etc/perfguard/perfguard.conf"
touch "$root/etc/perfguard/profiles.d/a.pgp"
install_with install
[ "$(tail -n 1 "$root/etc/perfguard/perfguard.conf")" = "# changed" ]
ok $? "what was configured is not overwritten"
install_with uninstall
find "$root" ! -type d | sort | diff "$scratch/before" - | grep '^[<>]' > "$scratch/diff"
printf '> %s\n' "$root"/etc/perfguard/{perfguard.conf,profiles.d/a.pgp} | cmp -s "$scratch/diff" -
ok $? "nor removed"

[ "$(grep -oE 'perfguard/[0-9.]+' Documentation/install.md | sort -u)" = "perfguard/$version" ]
ok $? "Documentation/install.md names this version"

# The commands that check advises, up to what it fills in.
unknown=
while read -r command; do
	grep -qF -- "$command" Documentation/install.md || unknown+="$command; "
done < <(sed -E 's/%s.*//' user/app/common/{module-advice,machine-check}.c |
	grep -ohE '[:,] (apt install|dkms (build|install)|modprobe|mokutil --import) [^",]*' | sed 's/^[:,] //')
[ -z "$unknown" ]
ok $? "what check advises is explained in Documentation/install.md"
[ -z "$unknown" ] || echo "# not there: $unknown"
finish
