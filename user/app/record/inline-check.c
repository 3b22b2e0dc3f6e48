// SPDX-License-Identifier: GPL-2.0

#include "app/record/inline-check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/check-report.h"
#include "app/common/command.h"
#include "app/common/selector.h"
#include "app/record/program.h"
#include "base/base-name.h"
#include "out/text.h"

enum { MAX_REASONS = 192 };

/* Why functions keep their breakpoint. */
static const char *const reasons[WINDOW_SITE_NR] = {
	[WINDOW_SITE_NONE] = "have no instruction of 5 bytes",
	[WINDOW_SITE_FAULTS] = "could fault",
	[WINDOW_SITE_NOP] = "are at a nop that kernels patch",
	[WINDOW_SITE_INDIRECT] = "jump by a pointer",
	[WINDOW_SITE_REFUSED] = "kernels refuse",
};

static void find_in_file(struct findings *findings, const char *path, const struct foreign_code *code)
{
	uint32_t verdicts[WINDOW_SITE_NR] = { 0 };
	char text[MAX_REASONS] = "", nr[TEXT_MAX], found[TEXT_MAX];

	if (!code) {
		findings_add(findings, FINDING_NOTE, "inline", NULL,
			     "%s: cannot be read, so nothing is recorded by jumps", base_name(path));
		return;
	}
	if (code->uses_gs) {
		findings_add(findings, FINDING_NOTE, "inline", NULL,
			     "%s: uses the base of gs, so nothing is recorded by jumps",
			     base_name(path));
		return;
	}
	for (uint32_t i = 0; i < code->nr_functions; i++)
		verdicts[code->functions[i].window.verdict]++;
	for (uint32_t i = 0; i < WINDOW_SITE_NR; i++)
		if (reasons[i] && verdicts[i])
			text_append(text, sizeof(text), "%s%" PRIu32 " %s", *text ? ", " : "; traps: ",
				    verdicts[i], reasons[i]);
	findings_add(findings, FINDING_OK, "inline", NULL, "%s: %s of %s functions by jumps%s",
		     base_name(path), text_count(verdicts[WINDOW_SITE_FOUND], found),
		     text_count(code->nr_functions, nr), text);
}

/* Memory that is executed and of no file: its code was not read. */
static bool has_generated_code(uint32_t pid)
{
	char line[512], path[64], modes[5];
	unsigned long inode;
	bool ret = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	file = fopen(path, "re");
	while (file && !ret && fgets(line, sizeof(line), file))
		ret = sscanf(line, "%*s %4s %*s %*s %lu", modes, &inode) == 2 && modes[2] == 'x' &&
		      !inode && !strchr(line, '[');
	if (file)
		fclose(file);
	return ret;
}

static int find_in_process(struct findings *findings, uint32_t pid)
{
	struct program program = { .has_windows = true };
	int error = program_look(&program, pid, 1);

	for (uint32_t i = 0; i < program.nr_files && !error; i++)
		if (!program.files[i].is_runtime || !program.files[i].code ||
		    program.files[i].code->uses_gs)
			find_in_file(findings, program.files[i].path, program.files[i].code);
	if (!error && has_generated_code(pid))
		findings_add(findings, FINDING_NOTE, "inline", NULL,
			     "it has made code at run time, which may use the base of gs unseen");
	program_deinit(&program);
	return error;
}

static int find_in_program(struct findings *findings, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), error;
	struct foreign_code *code = NULL;

	if (fd < 0)
		return -errno;
	error = foreign_code_open_with_windows(fd, path, &code);
	close(fd);
	if (error == -ENOMEM || error == -EINTR)
		return error;
	find_in_file(findings, path, error ? NULL : code);
	if (!error)
		foreign_code_close(code);
	findings_add(findings, FINDING_NOTE, "inline", "'pg-collect check --inline -p PID' reads them",
		     "its libraries were not read");
	return 0;
}

int inline_check(struct findings *findings, const struct selector *selector)
{
	int error = selector->pid ? find_in_process(findings, selector->pid) :
				    find_in_program(findings, selector->path);

	if (error == -ENOMEM)
		return cmd_no_memory();
	if (!error)
		return 0;
	findings_add(findings, FINDING_UNKNOWN, "inline", NULL, "%s: %s", selector->path,
		     error == -ESRCH ? "the process has ended" : strerror(-error));
	return 0;
}
