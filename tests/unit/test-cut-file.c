// SPDX-License-Identifier: GPL-2.0
/*
 * A program's file that is cut short while training reads it: its reader may die of that, this
 * process may not.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/helper/foreign-code.h"
#include "tap.h"

/* A copy of this program, as a file without a name. */
static int copy_self(void)
{
	char path[] = "/tmp/test-cut-file-XXXXXX";
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int copy = mkstemp(path);
	struct stat st;

	unlink(path);
	if (self < 0 || copy < 0 || fstat(self, &st))
		return -1;
	while (st.st_size > 0) {
		ssize_t sent = sendfile(copy, self, NULL, (size_t)st.st_size);

		if (sent <= 0)
			return -1;
		st.st_size -= sent;
	}
	close(self);
	return copy;
}

/* Ask for each function's code: what is found does not matter. */
static bool ask_all(struct foreign_code *code)
{
	struct foreign_call found;
	bool ret = true;

	for (uint32_t i = 0; i < code->nr_functions; i++) {
		const struct samples_function *function = &code->functions[i].described;

		for (uint64_t at = 0; at < function->size; at += 64)
			ret = !foreign_code_call(code, function->offset + at, true, &found) && ret;
	}
	return ret;
}

static void cut_at(off_t size, bool is_read_before, const char *name)
{
	struct foreign_code *code = NULL;
	int fd = copy_self();
	bool is_answered;

	if (fd < 0 || foreign_code_open(fd, "self", &code) || !code->nr_functions) {
		ok(false, "%s", name);
		return;
	}
	if (is_read_before)
		ask_all(code);
	if (ftruncate(fd, size))
		perror("ftruncate");
	is_answered = ask_all(code);
	foreign_code_close(code);
	close(fd);
	ok(is_answered, "%s", name);
}

int main(void)
{
	plan(4);
	cut_at(0, false, "cut to nothing once it is open");
	cut_at(0, true, "cut to nothing later");
	cut_at(4096, false, "cut to its first page");
	cut_at(20000, true, "cut in the middle");
	return tap_status();
}
