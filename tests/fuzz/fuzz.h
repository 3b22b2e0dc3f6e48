/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fuzzer is a file of its own with LLVMFuzzerTestOneInput(), which libFuzzer
 * calls with bytes it makes up.
 */
#ifndef _TESTS_FUZZ_FUZZ_H
#define _TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* A file with these bytes, which the caller closes. */
static inline int fuzz_file(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	return fd;
}

#endif /* _TESTS_FUZZ_FUZZ_H */
