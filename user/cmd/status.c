// SPDX-License-Identifier: GPL-2.0

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/log.h"
#include "cmd.h"
#include "link/link.h"
#include "out/json.h"
#include "out/text.h"

static const char help[] =
	"usage: pg-collect status [--json]\n"
	"\n"
	"Show the targets, their processes, the counters of the module and the wait\n"
	"calls it is hooked into.\n"
	"\n"
	"  --json  one JSON object a line: targets, processes, hooks, then the module\n"
	"  --help  print this text\n"
	"\n"
	"Exit status: 0 ok, 1 failed, 2 wrong usage, 3 not possible on this machine.\n";

static const struct {
	uint32_t flag;
	const char *name;
} flag_names[] = {
	{ PERFGUARD_TARGET_FLAGS_INHERIT, "inherit" },
	{ PERFGUARD_TARGET_FLAGS_ACCOUNT, "account" },
	{ PERFGUARD_TARGET_FLAGS_DISCOVER, "discover" },
	{ PERFGUARD_TARGET_FLAGS_OWNED, "owned" },
};

/* All the module tells. */
struct state {
	struct stats stats;
	struct target *targets;
	struct process *processes;
	uint32_t nr_targets;
	uint32_t nr_processes;
};

static void json_targets(struct json *json, const struct state *state)
{
	for (uint32_t i = 0; i < state->nr_targets; i++) {
		const struct target *target = &state->targets[i];

		json_object(json, NULL);
		json_string(json, "kind", "target");
		json_u64(json, "id", target->id);
		json_string(json, "exe", target->path);
		if (target->pid)
			json_u64(json, "pid", target->pid);
		json_array(json, "flags");
		for (size_t j = 0; j < sizeof(flag_names) / sizeof(flag_names[0]); j++)
			if (target->flags & flag_names[j].flag)
				json_string(json, NULL, flag_names[j].name);
		json_end(json);
		json_u64(json, "threshold_ns", target->threshold_ns);
		json_u64(json, "processes", target->processes);
		json_u64(json, "threads", target->threads);
		json_u64(json, "units", target->units);
		json_u64(json, "late", target->late);
		json_u64(json, "waits", target->waits);
		json_u64(json, "suppressed", target->suppressed);
		json_u64(json, "untracked", target->untracked);
		json_end(json);
		json_end_line(json, stdout);
	}
}

static void json_processes(struct json *json, const struct state *state)
{
	for (uint32_t i = 0; i < state->nr_processes; i++) {
		const struct process *process = &state->processes[i];

		json_object(json, NULL);
		json_string(json, "kind", "process");
		json_u64(json, "pid", process->pid);
		json_string(json, "comm", process->comm);
		json_u64(json, "target", process->target_id);
		json_u64(json, "image", process->image_id);
		json_end(json);
		json_end_line(json, stdout);
	}
}

static void json_hooks(struct json *json, const struct state *state)
{
	for (uint32_t i = 0; i < state->stats.nr_hooks; i++) {
		const struct hook *hook = &state->stats.hooks[i];

		json_object(json, NULL);
		json_string(json, "kind", "hook");
		json_u64(json, "syscall", hook->syscall);
		json_string(json, "name", hook->name);
		json_bool(json, "direct", hook->is_direct);
		json_u64(json, "missed", hook->missed);
		json_end(json);
		json_end_line(json, stdout);
	}
}

static void print_json(const struct state *state)
{
	const struct stats *stats = &state->stats;
	struct json json = { 0 };

	json_targets(&json, state);
	json_processes(&json, state);
	json_hooks(&json, state);
	json_object(&json, NULL);
	json_string(&json, "kind", "module");
	json_u64(&json, "targets", stats->targets);
	json_u64(&json, "threads", stats->threads);
	json_bool(&json, "alive", stats->is_alive);
	json_u64(&json, "next_alert", stats->next_alert);
	json_u64(&json, "next_wait", stats->next_wait);
	json_u64(&json, "ring_bytes", stats->ring_bytes);
	json_object(&json, "lost");
	json_u64(&json, "memory", stats->lost_memory);
	json_u64(&json, "overwritten", stats->lost_overwritten);
	json_u64(&json, "torn_stacks", stats->torn_stacks);
	json_end(&json);
	json_end(&json);
	json_end_line(&json, stdout);
	json_deinit(&json);
}

static void text_target(const struct state *state, const struct target *target)
{
	char threshold[DURATION_TEXT_MAX];
	char units[TEXT_MAX], late[TEXT_MAX], waits[TEXT_MAX];

	printf("%sTarget %" PRIu32 "%s: ", text_bold(stdout), target->id,
	       text_plain(stdout));
	text_safe(stdout, target->path);
	if (target->pid)
		printf(", process %" PRIu32 " alone", target->pid);
	printf("\n  %" PRIu32 " process%s, %" PRIu32 " thread%s seen; ",
	       target->processes, target->processes == 1 ? "" : "es",
	       target->threads, target->threads == 1 ? "" : "s");
	if (target->threshold_ns)
		printf("late after %s\n",
		       duration_format(target->threshold_ns, threshold));
	else
		puts("no threshold");
	printf("  %s units, %s late, in %s wait calls\n",
	       text_count(target->units, units),
	       text_count(target->late, late),
	       text_count(target->waits, waits));
	if (target->suppressed)
		printf("  %" PRIu64 " alerts held back by the rate limit\n",
		       target->suppressed);
	if (target->untracked)
		printf("  %" PRIu64 " processes or threads could not be watched\n",
		       target->untracked);
	for (uint32_t i = 0; i < state->nr_processes; i++) {
		const struct process *process = &state->processes[i];

		if (process->target_id != target->id)
			continue;
		printf("    process %-8" PRIu32 " ", process->pid);
		text_safe(stdout, process->comm);
		putchar('\n');
	}
}

/* The names of the hooks of one kind, wrapped. */
static void text_hooks(const struct stats *stats, bool is_direct)
{
	int column = 0;

	for (uint32_t i = 0; i < stats->nr_hooks; i++) {
		const struct hook *hook = &stats->hooks[i];

		if (hook->is_direct != is_direct)
			continue;
		if (!column)
			printf("  hooked %s:\n   ",
			       is_direct ? "directly" : "by kretprobe (slower)");
		else if (column > 56)
			column = printf("\n   ");
		column += printf(" %s", hook->name);
		if (hook->missed)
			column += printf(" (%" PRIu64 " waits missed)",
					 hook->missed);
	}
	if (column)
		putchar('\n');
}

static void text_module(const struct stats *stats)
{
	printf("Module: %" PRIu32 " target%s, %" PRIu32 " thread%s, %" PRIu32
	       " KiB of records\n",
	       stats->targets, stats->targets == 1 ? "" : "s", stats->threads,
	       stats->threads == 1 ? "" : "s", stats->ring_bytes / 1024);
	printf("  lost: %" PRIu64 " for want of memory, %" PRIu64
	       " overwritten, %" PRIu64 " torn stacks\n",
	       stats->lost_memory, stats->lost_overwritten,
	       stats->torn_stacks);
	if (!stats->nr_hooks)
		puts("  no wait call is hooked");
	text_hooks(stats, true);
	text_hooks(stats, false);
}

static void print_text(const struct state *state)
{
	if (!state->nr_targets)
		puts("Nothing is watched.");
	for (uint32_t i = 0; i < state->nr_targets; i++)
		text_target(state, &state->targets[i]);
	text_module(&state->stats);
}

static int read_state(struct link *link, struct state *state)
{
	int error = link_stats(link, &state->stats);

	if (!error)
		error = cmd_targets(link, &state->targets, &state->nr_targets);
	if (!error)
		error = link_processes(link, 0, &state->processes,
				       &state->nr_processes);
	if (!error)
		return 0;
	return cmd_link_failed(link, error, "cannot ask the module");
}

static void clear_state(struct state *state)
{
	free(state->processes);
	link_targets_free(state->targets, state->nr_targets);
	link_stats_clear(&state->stats);
}

int cmd_status(int argc, char **argv)
{
	struct state state = { 0 };
	bool is_json = false;
	struct link *link;
	int ret;

	ret = cmd_parse_flag(argc, argv, "json", help, &is_json);
	if (!ret)
		ret = cmd_no_argument(argc, argv);
	if (ret)
		return ret;
	ret = cmd_open_link(&link);
	if (ret)
		return ret;
	ret = read_state(link, &state);
	link_close(link);
	if (!ret && is_json)
		print_json(&state);
	else if (!ret)
		print_text(&state);
	if (!ret && !state.stats.is_alive)
		log_warning("the hooks no longer reach the module; set kernel.ftrace_enabled=1 (sysctl)");
	clear_state(&state);
	return ret;
}
