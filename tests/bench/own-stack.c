// SPDX-License-Identifier: GPL-2.0

#include "own-stack.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "binary/stack/snapshot.h"

enum { MAX_BYTES = 32768 };

/* The highest address of the main thread's stack. */
static uint64_t stack_end(void)
{
	uint64_t end = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			sscanf(line, "%*x-%" SCNx64, &end);
	if (!end)
		errx(1, "there is no stack");
	fclose(maps);
	return end;
}

__attribute__((noinline)) void own_stack(struct slice *ret)
{
	static uint8_t bytes[MAX_BYTES];
	uint64_t *regs = ret->regs, end = stack_end();

	if (snapshot_mappings((uint32_t)getpid(), ret))
		errx(1, "mappings");
	ret->state = 0;
	ret->unknown_regs = 0;
	__asm__ volatile("mov %%rbx, 24(%0)\n\t"
			 "mov %%rbp, 48(%0)\n\t"
			 "mov %%rsp, 56(%0)\n\t"
			 "mov %%r12, 96(%0)\n\t"
			 "mov %%r13, 104(%0)\n\t"
			 "mov %%r14, 112(%0)\n\t"
			 "mov %%r15, 120(%0)\n\t"
			 "lea 0(%%rip), %%rcx\n\t"
			 "mov %%rcx, 128(%0)"
			 :: "r"(regs) : "rcx", "memory");
	ret->size = (uint32_t)(end - regs[SLICE_REG_RSP]);
	if (ret->size > sizeof(bytes))
		ret->size = sizeof(bytes);
	ret->full_size = ret->size;
	ret->bytes = bytes;
	memcpy(bytes, (void *)regs[SLICE_REG_RSP], ret->size);
	__asm__ volatile("" ::: "memory"); /* a call, while this frame is there */
}
