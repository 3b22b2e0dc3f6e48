#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Debian packages: built twice to the same bytes, right by lintian, and with
# what make install has.
# shellcheck disable=SC2317 # functions are called through try

# shellcheck source-path=SCRIPTDIR source=../cli/tap.sh
. "${0%/*}/../cli/tap.sh"
cd "${0%/*}/../.." || exit 1
deb=build/deb
plan 8

try()
{
	local what=$1

	shift
	if "$@" > "$scratch/log" 2>&1; then
		ok 0 "$what"
	else
		ok 1 "$what"
		sed 's/^/# /' "$scratch/log"
	fi
}

sums()
{
	(cd "$deb" && sha256sum ./*.deb)
}

is_reproduced()
{
	sums > "$scratch/first"
	scripts/make-deb && sums | diff "$scratch/first" -
}

lintian_is_silent()
{
	lintian --no-tag-display-limit --fail-on error,warning "$deb"/*.changes
}

# contents PACKAGE: its files, without what Debian adds and renames.
contents()
{
	dpkg-deb -c "$deb/$1"_*.deb | awk '{ print $6 }' | sed -E 's,^\./,,; s,\.gz$,,; s,^lib/,usr/lib/,; /\/$/d' |
		sed 's,zsh/vendor-completions,zsh/site-functions,' | grep -vE '^(usr/share/doc/.*)?$' | sort
}

has_what_install_has()
{
	make -s install PREFIX=/usr DESTDIR="$scratch/root" &&
		(cd "$scratch/root" && find . -type f | sed 's,^\./,,' | sort) > "$scratch/installed" &&
		sort <(contents perfguard) <(contents perfguard-dkms) | diff "$scratch/installed" -
}

knows_its_version()
{
	local version

	version=$("$program" --version | cut -d ' ' -f 2)
	dpkg-parsechangelog -l "$deb/tree/debian/changelog" -S Version | grep -E "^$version(\+git[0-9]{14})?$"
}

has_profiles_directory()
{
	dpkg-deb -c "$deb"/perfguard_*.deb | grep ' ./etc/perfguard/profiles.d/$'
}

is_an_upgrade()
{
	dpkg --compare-versions "$(dpkg-deb -f "$deb"/perfguard_*.deb Version)" gt "$1"
}

try "they are built" scripts/make-deb
try "and to the same bytes again" is_reproduced
try "lintian has nothing to say" lintian_is_silent
try "they have what make install places" has_what_install_has
try "their version is that of pg-collect" knows_its_version
try "a later commit's is newer than one of a day before" is_an_upgrade \
	"$("$program" --version | cut -d ' ' -f 2)+git$(date -u -d "@$(($(git log -1 --format=%ct) - 86400))" +%Y%m%d%H%M%S)"
try "the profiles' directory is there" has_profiles_directory
grep -qx /etc/perfguard/perfguard.conf <(dpkg-deb -I "$deb"/perfguard_*.deb conffiles)
ok $? "the configuration is kept by upgrades"
finish
