// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into a program that uses the Apache Portable Runtime: its
 * apr_stat() takes so many microseconds longer as the first word of the file
 * $SLOW_STAT says at that moment, as it would on a file system that is slow.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*stat_fn)(void *info, const char *name, int32_t wanted, void *pool);

static stat_fn do_stat;
static const volatile uint32_t *delay_us;

__attribute__((constructor)) static void prepare(void)
{
	const char *path = getenv("SLOW_STAT");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *word = MAP_FAILED;

	do_stat = (stat_fn)dlsym(RTLD_NEXT, "apr_stat");
	if (fd >= 0) {
		word = mmap(NULL, sizeof(*delay_us), PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (word != MAP_FAILED)
		delay_us = word;
}

int apr_stat(void *info, const char *name, int32_t wanted, void *pool);

int apr_stat(void *info, const char *name, int32_t wanted, void *pool)
{
	if (delay_us && *delay_us)
		usleep(*delay_us);
	return do_stat(info, name, wanted, pool);
}
