// SPDX-License-Identifier: GPL-2.0
/* The files of a program that is trained on stay ours: a workload does not get them. */

#include <fcntl.h>
#include <unistd.h>

#include "app/record/program.h"
#include "tap.h"

enum { MAX_FDS = 1024 };

/* Descriptors that a program started now would have, besides the first three. */
static unsigned int nr_inherited(void)
{
	unsigned int nr = 0;

	for (int fd = 3; fd < MAX_FDS; fd++)
		nr += fcntl(fd, F_GETFD) == 0;
	return nr;
}

int main(void)
{
	unsigned int before = nr_inherited();
	struct program program = { 0 };

	plan(1);
	if (program_look(&program, (uint32_t)getpid(), 1) || !program.nr_files)
		skip(1, "no right to open the files that a process has mapped");
	else
		ok(nr_inherited() == before, "%u files are open, and none goes to a child",
		   program.nr_files);
	program_deinit(&program);
	return tap_status();
}
