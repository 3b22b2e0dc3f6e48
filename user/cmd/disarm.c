// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd.h"
#include "link/link.h"
#include "out/text.h"

static const char help[] =
	"usage: pg-collect disarm ID | NAME | PID\n"
	"       pg-collect disarm --all\n"
	"\n"
	"End the watching of a target, whoever began it, or of all.  Returns when the\n"
	"program runs as if it had never been watched.\n"
	"\n"
	"  ID      a target's number, as 'pg-collect status' shows it\n"
	"  NAME    the program's file, with or without its path\n"
	"  PID     a watched process\n"
	"  --all   every target\n"
	"  --help  print this text\n"
	"\n"
	"A number is an ID if there is a target with it.\n"
	"\n"
	"Exit status: 0 ok, 1 failed or nothing to disarm, 2 wrong usage, 3 not\n"
	"possible on this machine.\n";

struct arguments {
	bool is_all;
	const char *name;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
	int ret = cmd_parse_flag(argc, argv, "all", help, &arguments->is_all);

	if (ret)
		return ret;
	if (arguments->is_all ? argc != optind : argc != optind + 1)
		return cmd_usage(argv[0], "give one target, or --all");
	arguments->name = argv[optind];
	return 0;
}

/* The number that @text is, or 0. */
static uint32_t number_of(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Which targets are meant by the number of a process that is watched? */
static uint32_t target_of_process(const struct process *processes, uint32_t nr,
				  uint32_t pid)
{
	for (uint32_t i = 0; pid && i < nr; i++)
		if (processes[i].pid == pid)
			return processes[i].target_id;
	return 0;
}

static int disarm_one(struct link *link, const struct target *target)
{
	int error = link_target_del(link, target->id);

	/* It went by itself meanwhile: its owner has ended. */
	if (error == -ENOENT)
		return 0;
	if (error)
		return cmd_link_failed(link, error, "cannot disarm");
	printf("disarmed target %" PRIu32 ": ", target->id);
	text_safe(stdout, target->path);
	if (target->pid)
		printf(" (process %" PRIu32 ")", target->pid);
	printf(", %" PRIu64 " units, %" PRIu64 " late\n", target->units,
	       target->late);
	return 0;
}

/* Disarm what @name means; returns how many, or minus an exit code. */
static int disarm_named(struct link *link, const struct target *targets,
			uint32_t nr, const struct process *processes,
			uint32_t nr_processes, const char *name)
{
	uint32_t number = number_of(name), id = 0;
	int found = 0, ret;

	for (uint32_t i = 0; i < nr; i++)
		if (number && targets[i].id == number)
			id = number;
	for (uint32_t i = 0; i < nr; i++)
		if (number && !id && targets[i].pid == number)
			id = targets[i].id;
	if (number && !id)
		id = target_of_process(processes, nr_processes, number);

	for (uint32_t i = 0; i < nr; i++) {
		const char *path = targets[i].path;

		if (id ? targets[i].id != id :
			 strcmp(path, name) && strcmp(text_basename(path), name))
			continue;
		ret = disarm_one(link, &targets[i]);
		if (ret)
			return -ret;
		found++;
	}
	return found;
}

/* All at once: the module then also takes off every hook. */
static int disarm_all(struct link *link, const struct target *targets,
		      uint32_t nr)
{
	int error = link_target_del(link, 0);

	if (error && error != -ENOENT)
		return cmd_link_failed(link, error, "cannot disarm");
	if (!nr)
		puts("nothing was armed");
	for (uint32_t i = 0; i < nr; i++) {
		printf("disarmed target %" PRIu32 ": ", targets[i].id);
		text_safe(stdout, targets[i].path);
		printf(", %" PRIu64 " units, %" PRIu64 " late\n",
		       targets[i].units, targets[i].late);
	}
	return CMD_OK;
}

static int disarm(struct link *link, const struct arguments *arguments)
{
	uint32_t nr_targets, nr_processes = 0;
	struct process *processes = NULL;
	struct target *targets;
	int error, ret;

	error = cmd_targets(link, &targets, &nr_targets);
	if (error)
		return cmd_link_failed(link, error, "cannot list the targets");
	if (arguments->is_all) {
		ret = disarm_all(link, targets, nr_targets);
		link_targets_free(targets, nr_targets);
		return ret;
	}
	/* Without the processes, ids and names still work. */
	if (link_processes(link, 0, &processes, &nr_processes))
		nr_processes = 0;
	ret = disarm_named(link, targets, nr_targets, processes, nr_processes,
			   arguments->name);
	free(processes);
	link_targets_free(targets, nr_targets);
	if (ret < 0)
		return -ret;
	if (ret > 0)
		return CMD_OK;
	log_error("'%s' is not armed; 'pg-collect status' shows what is",
		  arguments->name);
	return CMD_FAILED;
}

int cmd_disarm(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct link *link;
	int ret;

	ret = parse(argc, argv, &arguments);
	if (ret)
		return ret;
	ret = cmd_open_link(&link);
	if (ret)
		return ret;
	ret = disarm(link, &arguments);
	link_close(link);
	return ret;
}
