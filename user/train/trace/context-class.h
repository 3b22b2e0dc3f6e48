/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contexts of a trace by what code they are of, and which of them the waits
 * of a stage may have been told by.
 *
 * Contexts of the same code, in other images or at another distance, are kin. A
 * loop may wait in one place all the time and seldom, but for good reason, in
 * another: each kin counts for itself.
 */
#ifndef _USER_TRAIN_TRACE_CONTEXT_CLASS_H
#define _USER_TRAIN_TRACE_CONTEXT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "train/trace/trace-pass.h"

struct kins {
	const struct pass_input *input;
	uint32_t *first; /* by context: the first of its kin */
	bool *waited; /* by the first of a kin: a wait was told by one of them */
	uint64_t *unsure; /* by loop: the calls (number modulo 64) of waits told by any */
};

/* @input must outlive it.  Returns 0 or -ENOMEM; kins_deinit() in either case. */
int kins_init(struct kins *kins, const struct pass_input *input);
void kins_deinit(struct kins *kins);

/* A wait was told by context @index or, if nothing shows that, by another of its loop. */
void kins_note(struct kins *kins, const struct pass *pass, uint32_t index);

/* May a wait have been told by context @index, or by its kin? */
bool kins_waited(const struct kins *kins, uint32_t index);

#endif /* _USER_TRAIN_TRACE_CONTEXT_CLASS_H */
