// SPDX-License-Identifier: GPL-2.0
/*
 * A program's file that is cut short while training reads it.
 */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/code/code-map.h"
#include "binary/file/object.h"
#include "tap.h"

/* A copy of this program, as a file without a name. */
static int copy_self(void)
{
	char path[] = "/tmp/test-sigbus-guard-XXXXXX";
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

/* Ask for every rule and every function: what is found does not matter. */
static void read_all(struct object *object)
{
	const struct segment *segment = object->view.segments;
	const char *name;
	uint64_t start;

	for (uint32_t i = 0; i < object->view.nr_segments; i++, segment++) {
		for (uint64_t at = 0; at < segment->size; at += 64) {
			object_rule(object, segment->addr + at);
			object_function(object, segment->addr + at, &start, &name);
		}
	}
}

static void cut_at(off_t size, bool is_read_before, const char *name)
{
	struct code_map *code = NULL;
	int fd = copy_self();

	if (fd < 0 || code_map_open(dup(fd), "self", &code)) {
		ok(false, "%s", name);
		return;
	}
	if (is_read_before)
		read_all(code->object);
	if (ftruncate(fd, size))
		perror("ftruncate");
	read_all(code->object);
	code_map_close(code);
	close(fd);
	ok(true, "%s", name);
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
