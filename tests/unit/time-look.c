// SPDX-License-Identifier: GPL-2.0
/*
 * How long the service looks for who is in a scope (Documentation/service.md).
 *
 * usage: time-look PROCESSES
 *
 * So many processes are begun, which sleep; then all of the machine are looked at, of whatever
 * user, ten times.  Prints the least time of one, and how much that is for each process.
 */

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "app/common/scope-processes.h"
#include "base/time.h"

#define NR_LOOKS 10

static void begin_sleeper(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("time-look: fork");
		exit(1);
	}
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Those of the kernel, too. */
static unsigned long count_processes(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned long nr = 0;

	while (dir && (entry = readdir(dir)))
		nr += isdigit(entry->d_name[0]) != 0;
	if (dir)
		closedir(dir);
	return nr;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct scope_processes processes;
	uint64_t least = UINT64_MAX;

	if (!nr) {
		fprintf(stderr, "usage: time-look PROCESSES\n");
		return 2;
	}
	for (unsigned long i = 0; i < nr; i++)
		begin_sleeper();
	for (int i = 0; i < NR_LOOKS; i++) {
		const struct armed_scope everybody = { .cgroup_path = (char *)"/" };
		uint64_t begin = time_now_ns(), took;

		if (scope_processes_get(&everybody, &processes))
			return 1;
		took = time_now_ns() - begin;
		least = took < least ? took : least;
		scope_processes_free(&processes);
	}
	nr = count_processes();
	printf("%lu processes, %.2f ms, %.1f us for each\n", nr, (double)least / 1e6,
	       (double)least / 1e3 / (double)nr);
	return 0;
}
