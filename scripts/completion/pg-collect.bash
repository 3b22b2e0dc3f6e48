# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of pg-collect for bash.  What there is to complete is asked of the
# program itself (pg-collect --list-options), so it is never out of date.

# _pg_collect_list VERB OPTION FIELD: fields are 2 option, 3 value, 4 choices; an
# OPTION of * is any of the verb's.
_pg_collect_list()
{
	"${COMP_WORDS[0]}" --list-options 2> /dev/null |
		awk -F '\t' -v verb="$1" -v option="$2" -v field="$3" '
			$1 == verb && (option == "*" ? $2 != "" : $2 == option) { print $field }'
}

_pg_collect_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# _pg_collect_files WORD [PATTERN]: where none matches the pattern, any file.
_pg_collect_files()
{
	compopt -o filenames 2> /dev/null
	if [ -n "${2-}" ]; then
		mapfile -t COMPREPLY < <(compgen -f -X "!$2" -- "$1"; compgen -d -- "$1")
		[ ${#COMPREPLY[@]} -eq 0 ] || return
	fi
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# _pg_collect_value NAME WORD: what is called so in the program's help.
_pg_collect_value()
{
	case $1 in
	PID) _pg_collect_words "$(cd /proc && echo [0-9]*)" "$2" ;;
	EXE | CMD) compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -c -- "$2" | sort -u) ;;
	FILE | PROFILE | AFTER) _pg_collect_files "$2" '*.pgp' ;;
	TRACE) _pg_collect_files "$2" ;;
	PATH | DIR) compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
	USER) mapfile -t COMPREPLY < <(compgen -u -- "$2") ;;
	esac
}

_pg_collect()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
	local choices value i

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		_pg_collect_words "$(_pg_collect_list '' '*' 2) help --help --version" "$word"
		return
	fi
	if [ "$verb" = help ]; then
		_pg_collect_words "$(_pg_collect_list '' '*' 2)" "$word"
		return
	fi
	# A command that follows --, then what it is given.
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] || continue
		if [ $((i + 1)) = "$COMP_CWORD" ]; then
			_pg_collect_value CMD "$word"
		else
			_pg_collect_files "$word"
		fi
		return
	done
	# --option=value is three words to bash.
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	value=$(_pg_collect_list "$verb" "$before" 3)
	if [[ $before = -* && -n $value ]]; then
		choices=$(_pg_collect_list "$verb" "$before" 4)
		if [ -n "$choices" ]; then
			_pg_collect_words "$choices" "$word"
		else
			_pg_collect_value "$value" "$word"
		fi
	elif [[ $word = -* ]]; then
		_pg_collect_words "$(_pg_collect_list "$verb" '*' 2)" "$word"
	else
		_pg_collect_value "$(_pg_collect_list "$verb" '' 3)" "$word"
	fi
}

complete -F _pg_collect pg-collect
