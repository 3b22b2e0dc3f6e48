/* SPDX-License-Identifier: GPL-2.0 */
/* Computing, in a function of its own: a unit calls it, so it can carry a guard. */
#ifndef _PGUARD_COMPUTE_H
#define _PGUARD_COMPUTE_H

#include <stdint.h>
#include <time.h>

/* In one function, a unit would call none of the program, and there would be nothing to guard. */
#define noinline __attribute__((noinline))

/* For so long of the thread's CPU time. */
static noinline void compute(long us)
{
	struct timespec now;
	int64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	end = now.tv_sec * 1000000LL + now.tv_nsec / 1000 + us;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000000LL + now.tv_nsec / 1000 < end);
}

#endif /* _PGUARD_COMPUTE_H */
