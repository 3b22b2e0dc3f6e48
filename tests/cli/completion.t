#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What bash and zsh complete is what pg-collect --help says that there is.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "${0%/*}/tap.sh"
scripts=$(cd "${0%/*}/../../scripts/completion" && pwd)
zsh_complete=$(cd "${0%/*}" && pwd)/zsh-complete
# shellcheck source-path=SCRIPTDIR source=../../scripts/completion/pg-collect.bash
. "$scripts/pg-collect.bash"

mapfile -t verbs < <("$program" | sed -nE 's/^  ([a-z]+) .*/\1/p')
plan $((${#verbs[@]} * 2 + 1 + 11 + 7))

# in_bash ARG...: the completions of the last one, sorted, in one line.
in_bash()
{
	COMP_WORDS=("$program" "$@")
	COMP_CWORD=$#
	_pg_collect
	printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}

# ask_zsh LINE...: one shell completes them all, as it takes long to start.
ask_zsh()
{
	PATH=${program%/*}:$PATH "$zsh_complete" "$scripts" "${@/#/pg-collect }" > "$scratch/shown"
}

# in_zsh LINE: the same of one of them.
in_zsh()
{
	line="pg-collect $1:" awk 'index($0, ENVIRON["line"]) == 1 { print substr($0, length(ENVIRON["line"]) + 1) }' \
		"$scratch/shown" | tr ' ' '\n' | grep -vxE '<<|shown|>>|pg-collect|' | sort -u | tr '\n' ' '
}

# options_of VERB: a line of --help begins with one, or with two.
options_of()
{
	"$program" "$1" --help | grep -oE '^  -(-?[a-z-]*)(, --[a-z-]+)?' | tr -d ' ' | tr ',' '\n' |
		sort | tr '\n' ' '
}

# same WANTED GOT NAME
same()
{
	[ "$1" = "$2" ]
	ok $? "$3"
	[ "$1" = "$2" ] || printf '# wanted %s\n# got    %s\n' "$1" "$2"
}

# has WANTED GOT NAME: one of the words.
has()
{
	[[ " $2 " = *" $1 "* ]]
	ok $? "$3"
	[[ " $2 " = *" $1 "* ]] || printf '# wanted %s\n# got    %s\n' "$1" "$2"
}

for verb in "${verbs[@]}"; do
	wanted=$(options_of "$verb")
	same "$wanted" "$(in_bash "$verb" -)" "bash: the options of $verb"
done
wanted=$(printf '%s\n' "${verbs[@]}" help --help --version | sort | tr '\n' ' ')
same "$wanted" "$(in_bash "")" "bash: the verbs"

mkdir "$scratch/here" "$scratch/here/dir"
touch "$scratch"/here/{a.pgp,trace,"b c.pgp"}
cd "$scratch/here" || exit 1
same "energy paper " "$(in_bash train --distance "")" "bash: choices of a value"
same "paper " "$(in_bash arm --infer = pa)" "bash: behind a ="
has $$ "$(in_bash audit -p "")" "bash: processes"
has env "$(in_bash audit -e en)" "bash: programs"
has env "$(in_bash train -o x -- en)" "bash: a command"
same "a.pgp b c.pgp dir " "$(in_bash arm "")" "bash: profiles and directories"
same "a.pgp b c.pgp dir " "$(in_bash learn -o "")" "bash: the profile to write"
same "a.pgp b c.pgp dir trace " "$(in_bash learn -o a.pgp "")" "bash: traces"
has root "$(in_bash arm --uid ro)" "bash: users"
same " " "$(in_bash train --duration "")" "bash: nothing where only a user knows"
same "$(printf '%s\n' "${verbs[@]}" | sort | tr '\n' ' ')" "$(in_bash help "")" "bash: help of verbs"

if [ -z "$(command -v zsh)" ]; then
	for ((i = 0; i < ${#verbs[@]} + 7; i++)); do
		skip "there is no zsh; scripts/setup installs it"
	done
	finish
fi
ask_zsh "${verbs[@]/%/ -}" "" "train --distance " "arm --infer=" "audit -p " "audit -e en" "arm " "arm --uid ro"
for verb in "${verbs[@]}"; do
	# A second - is typed by zsh if all have one.
	wanted=$(options_of "$verb" | sed 's/^-- //')
	got=$(in_zsh "$verb -")
	same "$wanted" "$(tr ' ' '\n' <<< "$got" | grep -e '^-.' | grep -vx -e -- | tr '\n' ' ')" \
		"zsh: the options of $verb"
done
got=$(in_zsh "")
missing=
for verb in "${verbs[@]}"; do
	[[ " $got" = *" $verb "* ]] || missing+=" $verb"
done
same "" "$missing" "zsh: the verbs"
has paper "$(in_zsh "train --distance ")" "zsh: choices of a value"
has paper "$(in_zsh "arm --infer=")" "zsh: behind a ="
has $$ "$(in_zsh "audit -p ")" "zsh: processes"
has env "$(in_zsh "audit -e en")" "zsh: programs"
got=$(in_zsh "arm ")
[[ " $got" = *" a.pgp "* && " $got" != *" trace "* ]]
ok $? "zsh: profiles"
has root "$(in_zsh "arm --uid ro")" "zsh: users"
finish
