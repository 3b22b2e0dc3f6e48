// SPDX-License-Identifier: GPL-2.0

#include "app/arm/guarded-programs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "link/link.h"
#include "out/text.h"

enum { MAX_COMMAND = 512, MAX_SHOWN = 3, SHOWN_BYTES = 60 };

struct programs {
	char **commands; /* distinct command lines */
	uint32_t nr_commands;
	uint32_t *users;
	uint32_t nr_users;
};

static uint32_t parent_of(uint32_t pid)
{
	char path[32], line[512];
	const char *end;
	unsigned int parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	/* A name may have any character, but the last ')' is behind it. */
	if (fgets(line, sizeof(line), file) && (end = strrchr(line, ')')))
		sscanf(end, ") %*c %u", &parent);
	fclose(file);
	return parent;
}

/* What a program forks for itself, as a worker, is no program of its own. */
static bool is_forked(const struct process *processes, uint32_t nr, uint32_t pid)
{
	uint32_t parent = parent_of(pid);

	for (uint32_t i = 0; i < nr; i++)
		if (processes[i].pid == parent)
			return true;
	return false;
}

static bool read_command(uint32_t pid, char command[MAX_COMMAND], uint32_t *ret_uid)
{
	char path[32];
	struct stat st;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = fstat(fd, &st) ? -1 : read(fd, command, MAX_COMMAND - 1);
	close(fd);
	if (len <= 0)
		return false;
	for (ssize_t i = 0; i < len; i++)
		if (!command[i])
			command[i] = i + 1 < len ? ' ' : '\0';
	command[len] = '\0';
	*ret_uid = st.st_uid;
	return true;
}

static void add(struct programs *programs, const char *command, uint32_t uid)
{
	uint32_t i = 0;

	while (i < programs->nr_users && programs->users[i] != uid)
		i++;
	if (i == programs->nr_users)
		programs->users[programs->nr_users++] = uid;
	for (i = 0; i < programs->nr_commands; i++)
		if (!strcmp(programs->commands[i], command))
			return;
	programs->commands[i] = strdup(command);
	programs->nr_commands += programs->commands[i] != NULL;
}

static void print(const struct programs *programs)
{
	text_heading(stdout, "");
	printf("with %" PRIu32 " command lines, of ", programs->nr_commands);
	text_counted(stdout, programs->nr_users, "user");
	puts(":");
	for (uint32_t i = 0; i < programs->nr_commands && i < MAX_SHOWN; i++) {
		char shown[SHOWN_BYTES];

		text_heading(stdout, "");
		snprintf(shown, sizeof(shown), "%s", programs->commands[i]);
		fputs("  ", stdout);
		text_safe(stdout, shown);
		putchar('\n');
	}
	if (programs->nr_commands > MAX_SHOWN) {
		text_heading(stdout, "");
		printf("  and %" PRIu32 " more\n", programs->nr_commands - MAX_SHOWN);
	}
	text_heading(stdout, "");
	puts("--args, --unit, --container, --cgroup and --uid guard some of them (disarm first)");
}

void guarded_programs_text(struct link *link, uint32_t target_id)
{
	struct programs programs = { 0 };
	char command[MAX_COMMAND];
	struct process *processes;
	uint32_t nr, uid;

	if (link_processes(link, target_id, &processes, &nr))
		return;
	programs.commands = calloc(nr + 1, sizeof(*programs.commands));
	programs.users = calloc(nr + 1, sizeof(*programs.users));
	for (uint32_t i = 0; i < nr && programs.commands && programs.users; i++)
		if (!is_forked(processes, nr, processes[i].pid) &&
		    read_command(processes[i].pid, command, &uid))
			add(&programs, command, uid);
	if (programs.nr_commands > 1)
		print(&programs);
	for (uint32_t i = 0; i < programs.nr_commands; i++)
		free(programs.commands[i]);
	free(programs.commands);
	free(programs.users);
	free(processes);
}
