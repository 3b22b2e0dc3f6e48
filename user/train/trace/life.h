/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that live for one unit: they are started for a request, come to no loop's wait,
 * and exit.  In the trace the exit becomes the wait of a loop of their own, from which
 * they come and to which they return, so that what cuts loops into units cuts them, too.
 * Its context has the function that they start with in the place of a return address.
 */
#ifndef _USER_TRAIN_TRACE_LIFE_H
#define _USER_TRAIN_TRACE_LIFE_H

#include <stdbool.h>

#include "data/trace.h"

/*
 * Add contexts and events of such threads to a sorted trace of a structure run, which is
 * sorted again then.  Returns 0 or -ENOMEM.
 */
int lives_add(struct trace *trace);

/* True if it is what lives_add() added. */
static inline bool life_is_context(const struct trace_context *context)
{
	return context->syscall == TRACE_LIFE_SYSCALL;
}

/* The function that the threads of such a context start with; TRACE_NONE if it has no site. */
uint32_t life_function(const struct trace *trace, const struct trace_context *context);

#endif /* _USER_TRAIN_TRACE_LIFE_H */
