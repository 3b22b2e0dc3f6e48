/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contexts of a trace by what code they are of, and which of them the waits
 * of a stage may have been told by.
 *
 * Contexts of the same code, in other images or at another distance, are class. A
 * loop may wait in one place all the time and seldom, but for good reason, in
 * another: each class counts for itself.
 */
#ifndef _USER_TRAIN_TRACE_CONTEXT_CLASS_H
#define _USER_TRAIN_TRACE_CONTEXT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "train/trace/trace-pass.h"

struct context_classes {
	const struct trace_pass_input *input;
	uint32_t *first; /* by context: the first of its class */
	bool *waited; /* by the first of a class: a wait was told by one of them */
	uint64_t *unsure; /* by loop: the calls (number modulo 64) of waits told by any */
};

/* @input must outlive it.  Returns 0 or -ENOMEM; context_classes_deinit() in either case. */
int context_classes_init(struct context_classes *classes, const struct trace_pass_input *input);
void context_classes_deinit(struct context_classes *classes);

/* A wait was told by context @index or, if nothing shows that, by another of its loop. */
void context_classes_note(struct context_classes *classes, const struct trace_pass *pass,
			  uint32_t index);

/* May a wait have been told by context @index, or by its class? */
bool context_classes_waited(const struct context_classes *classes, uint32_t index);

#endif /* _USER_TRAIN_TRACE_CONTEXT_CLASS_H */
