// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "app/common/command.h"
#include "app/common/check-report.h"
#include "app/common/module-advice.h"
#include "app/common/trial-text.h"
#include "link/link.h"

/* The first line of a small file, without its end; false if unreadable. */
static bool read_line(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "re");
	bool is_read;

	if (!file)
		return false;
	is_read = fgets(line, size, file) != NULL;
	fclose(file);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

static void check_permission(struct findings *findings)
{
	unsigned long long effective = 0;
	char line[256];
	FILE *file;

	file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (file)
		fclose(file);
	if (effective & (1ull << CAP_SYS_ADMIN))
		findings_add(findings, FINDING_OK, "permission", NULL, "this user has CAP_SYS_ADMIN");
	else
		findings_add(findings, FINDING_BAD, "permission", "run this as root",
		       "CAP_SYS_ADMIN is missing");
}

static void check_kernel(struct findings *findings, const struct utsname *name)
{
	unsigned int major = 0, minor = 0;

	if (!strcmp(name->machine, "x86_64"))
		findings_add(findings, FINDING_OK, "machine", NULL, "x86-64");
	else
		findings_add(findings, FINDING_BAD, "machine", "use an x86-64 machine",
		       "%s is not supported", name->machine);

	if (sscanf(name->release, "%u.%u", &major, &minor) != 2)
		findings_add(findings, FINDING_UNKNOWN, "kernel", NULL,
		       "cannot make out the version of '%s'", name->release);
	else if (major < 6 || (major == 6 && minor < 1))
		findings_add(findings, FINDING_BAD, "kernel", "boot 6.1 or newer", "%s is too old",
		       name->release);
	else
		findings_add(findings, FINDING_OK, "kernel", NULL, "%s", name->release);
}

static void check_trial(struct findings *findings, const struct stats *stats)
{
	char text[160];

	if (trial_text(stats, text, sizeof(text)))
		findings_add(findings, FINDING_OK, "instructions", NULL, "%s", text);
	else
		findings_add(findings, FINDING_NOTE, "instructions",
		       stats->trial == PERFGUARD_TRIAL_AGAIN ? "boot a kernel of 2026 or later" :
							       "load the module again",
		       "%s", text);
}

static void check_module(struct findings *findings, const char *release)
{
	char advice[160];
	struct stats stats;
	struct link *link;
	int error;

	error = link_open(&link);
	if (error == -ENOENT) {
		module_advice("", release, advice, sizeof(advice));
		findings_add(findings, FINDING_BAD, "module", advice, "not loaded");
		link_close(link);
		return;
	}
	if (error) {
		findings_add(findings, FINDING_BAD, "module", NULL, "%s", link_error(link));
		link_close(link);
		return;
	}
	error = link_stats(link, &stats);
	if (error) {
		findings_add(findings, error == -EPERM ? FINDING_UNKNOWN : FINDING_BAD, "module", NULL,
		       "loaded, but does not answer: %s", link_error(link));
	} else {
		findings_add(findings, FINDING_OK, "module", NULL, "loaded and answers; %u targets, %u hooked calls now",
		       stats.targets, stats.nr_hooks);
		if (!stats.is_alive)
			findings_add(findings, FINDING_BAD, "hooks", "see the kernel's log (dmesg)",
			       "they no longer reach the module");
		check_trial(findings, &stats);
		link_stats_clear(&stats);
	}
	link_close(link);
}

/* All of a stream of text; NULL if there is nothing or no memory. */
static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t size = 0;

	if (getdelim(&text, &size, '\0', file) > 0)
		return text;
	free(text);
	return NULL;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file)
		return NULL;
	text = read_all(file);
	fclose(file);
	return text;
}

/* Any machine with a kernel has gzip; a library for one file is not worth it. */
static char *read_proc(void)
{
	FILE *pipe;
	char *text;

	if (access("/proc/config.gz", R_OK))
		return NULL;
	pipe = popen("exec gzip -dc /proc/config.gz 2>/dev/null", "re");
	if (!pipe)
		return NULL;
	text = read_all(pipe);
	pclose(pipe);
	return text;
}

/* The configuration the running kernel was built with; NULL if none can be read. */
static char *read_config(const char *release)
{
	static const char *const formats[] = {
		"/boot/config-%s",
		"/lib/modules/%s/config",
		"/usr/lib/modules/%s/config",
		"/lib/modules/%s/build/.config",
	};
	char path[512], *config = read_proc();

	for (size_t i = 0; !config && i < sizeof(formats) / sizeof(formats[0]); i++) {
		snprintf(path, sizeof(path), formats[i], release);
		config = read_file(path);
	}
	return config;
}

/* Return: true if @option ("CONFIG_X") is y or m. */
static bool is_set(const char *config, const char *option)
{
	size_t len = strlen(option);

	for (const char *line = config; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, option, len) && line[len] == '=')
			return line[len + 1] == 'y' || line[len + 1] == 'm';
	}
	return false;
}

static void check_config(struct findings *findings, const struct utsname *name)
{
	static const struct {
		const char *option;
		const char *use;
	} needed[] = {
		{ "CONFIG_MODULES", "to load the module" },
		{ "CONFIG_UPROBES", "for guards in programs" },
		{ "CONFIG_KPROBES", "to hook wait calls" },
		{ "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", "to hook wait calls cheaply" },
		{ "CONFIG_SCHED_INFO", "for the time in the run queue" },
		{ "CONFIG_TASK_DELAY_ACCT", "for the time of block I/O" },
	};
	char *config = read_config(name->release);

	if (!config) {
		findings_add(findings, FINDING_UNKNOWN, "kernel config",
		       "look for it where the kernel came from",
		       "neither /proc/config.gz nor /boot/config-%s can be read", name->release);
		return;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		bool is_optional = !strcmp(needed[i].option, "CONFIG_TASK_DELAY_ACCT");

		if (is_set(config, needed[i].option))
			findings_add(findings, FINDING_OK, "kernel config", NULL, "%s", needed[i].option);
		else
			findings_add(findings, is_optional ? FINDING_NOTE : FINDING_BAD, "kernel config",
			       "use a kernel that has it", "%s is off, needed %s", needed[i].option,
			       needed[i].use);
	}
	free(config);
}

static void check_ftrace(struct findings *findings)
{
	char line[32];

	if (!read_line("/proc/sys/kernel/ftrace_enabled", line, sizeof(line)))
		findings_add(findings, FINDING_BAD, "ftrace", "use a kernel with CONFIG_FUNCTION_TRACER",
		       "the kernel has none (no kernel.ftrace_enabled)");
	else if (!strcmp(line, "0"))
		findings_add(findings, FINDING_BAD, "ftrace", "set kernel.ftrace_enabled=1 (sysctl)",
		       "turned off");
	else
		findings_add(findings, FINDING_OK, "ftrace", NULL, "on");
}

static void check_block_io(struct findings *findings)
{
	char line[32];

	if (!read_line("/proc/sys/kernel/task_delayacct", line, sizeof(line)))
		findings_add(findings, FINDING_NOTE, "block I/O time", NULL,
		       "this kernel does not account it");
	else if (!strcmp(line, "0"))
		findings_add(findings, FINDING_NOTE, "block I/O time",
		       "set kernel.task_delayacct=1 (sysctl) before the program starts",
		       "not accounted: only for threads started while kernel.task_delayacct is 1");
	else
		findings_add(findings, FINDING_OK, "block I/O time", NULL,
		       "accounted for threads started since kernel.task_delayacct is 1");
}

/* The mode in brackets is the one in force: "none [integrity] confidentiality". */
static void check_lockdown(struct findings *findings)
{
	char line[128], advice[160];
	char *mode;

	if (!read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		return;
	mode = strchr(line, '[');
	if (!mode)
		return;
	mode++;
	mode[strcspn(mode, "]")] = '\0';
	module_trust_advice("", advice, sizeof(advice));
	if (!strcmp(mode, "none"))
		findings_add(findings, FINDING_OK, "lockdown", NULL, "none");
	else
		findings_add(findings, FINDING_NOTE, "lockdown", advice,
		       "%s: the kernel loads only modules that are signed with a key it trusts", mode);
}

void machine_check(struct findings *findings)
{
	struct utsname name;

	uname(&name);
	check_permission(findings);
	check_kernel(findings, &name);
	check_module(findings, name.release);
	check_config(findings, &name);
	check_ftrace(findings);
	check_block_io(findings);
	check_lockdown(findings);
}
