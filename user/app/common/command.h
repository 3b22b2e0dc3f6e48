/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs of pg-collect and what they share.
 */
#ifndef _USER_APP_COMMON_COMMAND_H
#define _USER_APP_COMMON_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct link;
struct target;

enum cmd_exit {
	CMD_OK = 0,
	CMD_FAILED = 1,
	CMD_USAGE = 2,
	CMD_IMPOSSIBLE = 3, /* on this machine: module, permission, kernel */
	CMD_TIMEOUT = 4, /* watch -n: the duration ended first */
};

#define CMD_VERSION "0.1"

/* Each verb gets its own name as argv[0] and returns an enum cmd_exit. */
int cmd_arm(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_disarm(int argc, char **argv);
int cmd_learn(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_watch(int argc, char **argv);

/* Say what is wrong with the arguments of @verb, in one line. */
int cmd_usage(const char *verb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Explain '?' or ':' of getopt_long() as cmd_usage() does; opterr is to be 0
 * and the option string to begin with ":" (after a "+").
 */
int cmd_bad_option(char **argv, int option);

/*
 * Read the options of a verb that has no other than --NAME and --help, which
 * prints @help and exits.  Returns 0 or CMD_USAGE, told.
 */
int cmd_parse_flag(int argc, char **argv, const char *name, const char *help,
		   bool *ret);

/* There is to be nothing behind the options.  Returns 0 or CMD_USAGE, told. */
int cmd_no_argument(int argc, char **argv);

/* Read the argument of --duration.  Returns 0 or CMD_USAGE, told. */
int cmd_parse_duration(const char *verb, const char *option, const char *text,
		       uint64_t *ret_ns);

/* Read a number from 1 up.  Returns 0 or CMD_USAGE, told. */
int cmd_parse_count(const char *verb, const char *option, const char *text,
		    uint32_t *ret);

/* Open the link or say why not.  Returns 0, CMD_FAILED or CMD_IMPOSSIBLE. */
int cmd_open_link(struct link **ret);

/*
 * The targets, each with the path of its program, also where only a process is
 * watched; link_targets_free() them.  Returns 0 or the link's error.
 */
int cmd_targets(struct link *link, struct target **ret, uint32_t *ret_nr);

/* The exit code for an error of link_open(): CMD_FAILED or CMD_IMPOSSIBLE. */
int cmd_exit_of(int error);

/* Tell the link's error as "WHAT: WHY"; returns the exit code for it. */
int cmd_link_failed(const struct link *link, int error, const char *what);

/*
 * The module could not tell just now, and is asked again; @last_ns is when it could not last,
 * CLOCK_MONOTONIC.  Tell why, unless that was a moment ago.
 */
void cmd_put_off(const struct link *link, uint64_t *last_ns);

#endif /* _USER_APP_COMMON_COMMAND_H */
