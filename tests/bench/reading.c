// SPDX-License-Identifier: GPL-2.0
/*
 * The time that training takes to read the code of a file: that of the helper, which finds the
 * functions and their sites, and of its parent.  CPU time, independent of the load of the machine.
 *
 *	reading FILE...		exit 1 if one takes more than 5 s for 154 MB
 */

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/helper/foreign-code.h"

#define MAX_S_A_BYTE (5.0 / 154e6)

static double cpu_seconds(int who, long *ret_kib)
{
	struct rusage usage;

	getrusage(who, &usage);
	*ret_kib = usage.ru_maxrss; /* the largest one's, of several children */
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Returns the seconds that it took. */
static double read_code(int fd, const char *path, uint32_t *ret_functions, long *ret_kib)
{
	long kib;
	double before = cpu_seconds(RUSAGE_SELF, &kib) + cpu_seconds(RUSAGE_CHILDREN, &kib);
	struct foreign_code *code;
	int error = foreign_code_open(fd, path, &code);

	if (error)
		errx(1, "%s cannot be read (%d)", path, error);
	*ret_functions = code->nr_functions;
	foreign_code_close(code);
	return cpu_seconds(RUSAGE_SELF, &kib) + cpu_seconds(RUSAGE_CHILDREN, ret_kib) - before;
}

int main(int argc, char **argv)
{
	int ret = 0;

	printf("   SECONDS        MB FUNCTIONS MIB AT MOST FILE\n");
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		uint32_t functions;
		struct stat st;
		double seconds;
		long kib;

		if (fd < 0 || fstat(fd, &st))
			err(1, "%s", argv[i]);
		seconds = read_code(fd, argv[i], &functions, &kib);
		close(fd);
		printf("%10.2f %9.1f %9u %11ld %s\n", seconds, (double)st.st_size / 1e6, functions,
		       kib >> 10, argv[i]);
		if (seconds > (double)st.st_size * MAX_S_A_BYTE + 0.1)
			ret = 1;
	}
	return ret;
}
