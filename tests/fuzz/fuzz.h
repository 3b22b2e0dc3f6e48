/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fuzzer is a file of its own with fuzz_one(), which is called with bytes that
 * libFuzzer makes up.  An input may take FUZZ_SECONDS of CPU time: what the machine
 * does besides is not the reader's.
 */
#ifndef _TESTS_FUZZ_FUZZ_H
#define _TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FUZZ_SECONDS = 2 };

void fuzz_one(const uint8_t *bytes, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static inline double fuzz_cpu_seconds(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now))
		abort();
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	double begin = fuzz_cpu_seconds();

	fuzz_one(bytes, len);
	/* libFuzzer keeps the input. */
	if (fuzz_cpu_seconds() - begin > FUZZ_SECONDS)
		abort();
	return 0;
}

/* A file with these bytes, which the caller closes. */
static inline int fuzz_file(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	return fd;
}

#endif /* _TESTS_FUZZ_FUZZ_H */
