/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of a verb as data: what they are called, how their values are
 * read and where they go, and their help.  One function parses them, another
 * prints --help from them.
 *
 *	static const struct option_spec own[] = {
 *		{ .name = "top", .value = "N", .parse = option_count,
 *		  .at = offsetof(struct session, nr_slowest), .help = "..." },
 *		{ 0 },
 *	};
 *
 * An entry without .parse is an operand, which only --help knows; one without
 * .help is an old spelling, which --help does not know.
 */
#ifndef _USER_APP_COMMON_OPTIONS_H
#define _USER_APP_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option_use;

struct option_spec {
	char letter; /* 0: none */
	const char *name; /* of the long option, or the operand; NULL: none */
	const char *value; /* name of its value; NULL: a flag */
	/* Store the value at @to.  Returns 0 or CMD_USAGE, reported. */
	int (*parse)(const struct option_use *use, void *to);
	size_t at; /* offset in the group's object */
	const char *help; /* is wrapped */
	double most; /* of a number; 0: no bound */
	const char *const *choices; /* of option_choice(), ends with NULL */
	bool is_once; /* given twice is a mistake: neither value is wanted more */
};

/* An option that was given. */
struct option_use {
	const struct option_spec *spec;
	const char *verb;
	const char *text; /* its value; NULL for a flag */
	char name[32]; /* "--duration", "-p" */
};

/* Options that several verbs share, or a verb's own, and the object they set. */
struct option_group {
	const struct option_spec *specs; /* an entry of zeros is the end */
	void *object;
};

#define OPTIONS_MAX_GROUPS 8

struct verb {
	const char *name;
	const char *summary; /* for the list of verbs */
	const char *usage; /* lines; each is printed behind the verb's name */
	const char *about; /* paragraphs of --help before the options, */
	const char *notes; /* and behind them; NULL: none */
	const char *exit; /* exit status; NULL: VERB_EXIT */
	struct option_group groups[OPTIONS_MAX_GROUPS];
	enum verb_operands {
		VERB_NO_OPERANDS,
		VERB_OPERANDS,
		VERB_COMMAND, /* that which follows --, if there is one */
	} operands;
	void (*init)(void); /* of what the options set; NULL: nothing to do */
	int (*run)(int argc, char **argv); /* operands from optind on; returns an enum cmd_exit */
};

#define VERB_EXIT "0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine."

/* What an option's value may be, and the type of *@to. */
int option_flag(const struct option_use *use, void *to); /* bool: true */
int option_no_flag(const struct option_use *use, void *to); /* bool: false */
int option_string(const struct option_use *use, void *to); /* const char * */
int option_count(const struct option_use *use, void *to); /* uint32_t from 1 up */
int option_duration(const struct option_use *use, void *to); /* uint64_t ns from 1 up */
int option_number(const struct option_use *use, void *to); /* double above 0 */
int option_percent(const struct option_use *use, void *to); /* double, a share */
int option_choice(const struct option_use *use, void *to); /* unsigned int: which */

/* -v, --verbose */
extern const struct option_spec options_verbose[];

/* Read the options of @argv and run the verb.  Returns an enum cmd_exit. */
int verb_run(const struct verb *verb, int argc, char **argv);

/*
 * For the shells' completion: print what may follow the verb, a line each with
 * five fields that tabs separate: verb, option, name of its value, choices of
 * that, help.  A line without option is of operands, one without verb of the
 * verb itself.
 */
void verb_list_options(const struct verb *verb);

#endif /* _USER_APP_COMMON_OPTIONS_H */
