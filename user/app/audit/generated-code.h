/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much of what a program computes is called by code that it made at run time.
 *
 * By samples of the threads' user stacks that the kernel takes (perf events on the CPU clock).
 * Of a regular expression's machine code the samples are in it; where such code calls
 * what is in a file, the program itself was compiled at run time, and what its units call
 * there changes as that goes on.
 */
#ifndef _USER_APP_AUDIT_GENERATED_CODE_H
#define _USER_APP_AUDIT_GENERATED_CODE_H

#include <stddef.h>
#include <stdint.h>

struct process;

/* A thread that is sampled. */
struct generated_code_thread {
	uint32_t pid;
	uint32_t tid;
	int fd;
	void *ring;
};

struct generated_code {
	struct generated_code_thread *threads;
	size_t max;
	uint32_t nr;
};

/* Sample the threads of these processes too, as far as there is room. Returns 0 or -ENOMEM. */
int generated_code_follow(struct generated_code *code, const struct process *processes,
			  uint32_t nr);

/*
 * The share of samples in functions that such code called, directly or not; 0 if there are
 * too few samples to be sure, or the kernel takes none.
 */
double generated_code_share(const struct generated_code *code);

void generated_code_deinit(struct generated_code *code);

#endif /* _USER_APP_AUDIT_GENERATED_CODE_H */
