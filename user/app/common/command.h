/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs of pg-collect and what they share.
 */
#ifndef _USER_APP_COMMON_COMMAND_H
#define _USER_APP_COMMON_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct findings;
struct link;
struct target;
struct verb;

enum cmd_exit {
	CMD_OK = 0,
	CMD_FAILED = 1,
	CMD_USAGE = 2,
	CMD_IMPOSSIBLE = 3, /* on this machine: module, permission, kernel */
	CMD_TIMEOUT = 4, /* watch -n: the duration ended first */
};

#define CMD_VERSION "0.1"

extern const struct verb cmd_arm, cmd_audit, cmd_check, cmd_diff, cmd_disarm, cmd_export, cmd_learn;
extern const struct verb cmd_record, cmd_report, cmd_serve, cmd_show, cmd_status, cmd_top;
extern const struct verb cmd_train, cmd_watch, cmd_forward, cmd_sync;

/* Say what is wrong with the arguments of @verb, in one line. */
int cmd_usage(const char *verb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Check that the file at @path can be written once the work is done: after a minute of
 * training is too late.  Returns 0 or CMD_FAILED, reported.
 */
int cmd_check_output(const char *path);

/* Open the link or say why not.  Returns 0, CMD_FAILED or CMD_IMPOSSIBLE. */
int cmd_open_link(struct link **ret);

/*
 * The targets, each with the path of its program, also where only a process is
 * watched; link_targets_free() them.  Returns 0 or the link's error.
 */
int cmd_targets(struct link *link, struct target **ret, uint32_t *ret_nr);

/* The exit code for an error of link_open(): CMD_FAILED or CMD_IMPOSSIBLE. */
int cmd_exit_of(int error);

/* Report the link's error as "WHAT: WHY"; returns the exit code for it. */
int cmd_link_failed(const struct link *link, int error, const char *what);

/* Report that there is no memory; returns CMD_FAILED. */
int cmd_no_memory(void);

/* Either, by @error. */
int cmd_failed(const struct link *link, int error, const char *what);

/*
 * The module put a request off, which is sent again; @last_ns is when it did so last,
 * CLOCK_MONOTONIC.  Report why, unless that was a moment ago.
 */
void cmd_put_off(const struct link *link, uint64_t *last_ns);

/* Print what speaks for and against perfguard on this machine (machine-check.c). */
void machine_check(struct findings *findings);

#endif /* _USER_APP_COMMON_COMMAND_H */
