// SPDX-License-Identifier: GPL-2.0
/*
 * pg-collect: the userland of perfguard.  This file is the table of verbs;
 * each has a file in cmd/.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/options.h"
#include "app/common/signals.h"
#include "base/guess.h"
#include "base/log.h"

static const struct verb *const verbs[] = {
	&cmd_check, &cmd_audit, &cmd_train, &cmd_record, &cmd_learn,
	&cmd_show, &cmd_diff, &cmd_arm, &cmd_watch, &cmd_top, &cmd_report, &cmd_export, &cmd_status,
	&cmd_disarm, &cmd_serve, &cmd_forward, &cmd_sync,
};

static void print_usage(FILE *file)
{
	fputs("usage: pg-collect VERB [OPTION...]\n"
	      "       pg-collect VERB --help\n"
	      "       pg-collect help [VERB] | --help | --version\n\n", file);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(file, "  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
}

static void print_help(void)
{
	puts("pg-collect finds the slow requests of unmodified programs, with where\n"
	     "their time went and in which functions they were, while they run.\n");
	print_usage(stdout);
	puts("\n"
	     "Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not possible on this\n"
	     "machine (no module, no permission, no kernel support), 4 (watch -n)\n"
	     "the duration ended first.");
}

static void list_options(void)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		verb_list_options(verbs[i]);
}

static bool is_reader_gone(void)
{
	struct pollfd poll_fd = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLERR;
}

/*
 * Whatever the verb, output that was lost is a failure, and reported here.  A
 * reader that has seen enough, as head, is none: we end as any filter does, now
 * that everything is cleaned up.
 */
static void finish_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	if (!log_has_error() && is_reader_gone()) {
		signals_restore_pipe();
		raise(SIGPIPE);
	}
	if (!log_has_error())
		log_error("cannot write the output: its reader is gone, or the disk is full");
	_exit(CMD_FAILED);
}

/* The verb that was meant, or NULL. */
static const char *guess_verb(const char *name)
{
	struct guess guess = { .wanted = name };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		guess_offer(&guess, verbs[i]->name);
	return guess.word;
}

static int run_verb(int argc, char **argv)
{
	const char *guess;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[0], verbs[i]->name))
			return verb_run(verbs[i], argc, argv);
	guess = guess_verb(argv[0]);
	log_error("unknown verb '%s'%s%s%s; see 'pg-collect --help'", argv[0],
		  guess ? ", is it '" : "", guess ? guess : "", guess ? "'?" : "");
	return CMD_USAGE;
}

static bool is_one_of(const char *text, const char *one, const char *two, const char *three)
{
	return !strcmp(text, one) || !strcmp(text, two) || (three && !strcmp(text, three));
}

int main(int argc, char **argv)
{
	signals_ignore_pipe();
	atexit(finish_output);
	if (argc < 2) {
		print_usage(stdout);
		return CMD_OK;
	}
	if (is_one_of(argv[1], "--version", "-V", NULL)) {
		puts("pg-collect " CMD_VERSION);
		return CMD_OK;
	}
	if (!strcmp(argv[1], "--list-options")) {
		list_options();
		return CMD_OK;
	}
	if (!is_one_of(argv[1], "--help", "-h", "help"))
		return run_verb(argc - 1, argv + 1);
	if (argc == 2 || !strcmp(argv[2], "help")) {
		print_help();
		return CMD_OK;
	}
	return run_verb(2, (char *[]){ argv[2], "--help", NULL });
}
