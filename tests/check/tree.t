#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What can be said of the sources without running them.
# shellcheck disable=SC2317 # functions are called through check

set -u
cd "${0%/*}/../.." || exit 1
count=0
failed=0

# check WHAT COMMAND...: the command succeeds; else its output is shown
check()
{
	local what=$1 output
	shift
	count=$((count + 1))
	if output=$("$@" 2>&1); then
		echo "ok $count - $what"
	else
		echo "not ok $count - $what"
		printf '%s\n' "$output" | sed 's/^/# /'
		failed=1
	fi
}

no_output()
{
	local output
	output=$("$@") || true
	[ -z "$output" ] || { printf '%s\n' "$output"; return 1; }
}

# Programs' names and machine paths do not belong into the product.
special_cases()
{
	git grep -nIiwE 'nginx|redis|apache|httpd|mariadb|mysql|memcached' -- kmod user include
}

# What the pages of the architecture and of security name is there.
named_files()
{
	local page path

	for page in architecture security; do
		tr '`' '\n' < "Documentation/$page.md" |
			grep -E '^(kmod|user|include|scripts|tests|Documentation)/[^ ]+$' |
			while read -r path; do
			[ -e "$path" ] || echo "Documentation/$page.md: no $path"
		done
	done
}

# In the build that the tests of the module use, which need not compile it again (scripts/vm).
sparse()
{
	mkdir -p build
	(
		flock -w 600 9
		make module KERNEL=6.1 MODULE_FLAGS="${MODULE_FLAGS-} C=2" 2>&1 |
			grep -E 'kmod/.*(warning|error):'
	) 9> build/.vm.lock
}

scripts_of_bash()
{
	git ls-files scripts tests .ci | xargs grep -lE '^#!/bin/(ba)?sh'
}

checkpatch()
{
	local tool files
	mapfile -t files < <(git ls-files 'kmod/*.[chS]')
	tool=$(find "${PERFGUARD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/perfguard}/kernels" \
		-path '*/scripts/checkpatch.pl' -print -quit)
	[ -n "$tool" ] || return 0
	perl "$tool" --no-tree --terse --no-summary --max-line-length=100 \
		--ignore CONSTANT_COMPARISON,FILE_PATH_CHANGES,LINUX_VERSION_CODE,COMPLEX_MACRO,ENOSYS \
		-f "${files[@]}"
}

check "the uapi header and the policies are those of the spec" scripts/spec-header --check
check "the headline figures are those of the results" python3 -B tests/eval/figures.py --check
check "includes run one way" scripts/check-layers
check "the files that the architecture and security pages name are there" no_output named_files
check "man pages and --help agree" scripts/check-man
check "the product knows no program by name" no_output special_cases
check "sparse has nothing to say" no_output sparse
check "checkpatch has nothing to say" no_output checkpatch
# shellcheck disable=SC2046
check "shellcheck has nothing to say" shellcheck -x $(scripts_of_bash)
echo "1..$count"
exit $failed
