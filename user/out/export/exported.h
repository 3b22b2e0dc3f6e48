/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An incident as the formats of other programs have it, whatever its lines were.
 */
#ifndef _USER_OUT_EXPORT_EXPORTED_H
#define _USER_OUT_EXPORT_EXPORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/frame.h"

enum { EXPORTED_NAME_MAX = 512, EXPORTED_MAX_PARTS = 8 };

struct incidents;

struct exported_part {
	const char *name; /* as its key in JSON */
	uint64_t ns;
};

struct exported_stack {
	uint64_t wall_ns; /* CLOCK_REALTIME; 0: not known */
	uint64_t ns; /* of the incident's time that it stands for; 0: it is of another thread */
	uint32_t tid;
	const struct frame *frames; /* innermost first */
	uint32_t nr_frames;
	const char *syscall; /* that it is blocked in, or NULL */
};

struct exported {
	const char *kind; /* "late unit", "late request", ... */
	bool is_request;
	bool has_ended;
	const char *program; /* of the file, without its folders, or of the thread */
	const char *comm; /* of the thread; "" if it is not known */
	const char *place; /* where most of its time went, or for what; "-" */
	char type[EXPORTED_NAME_MAX]; /* "type 7 (lookup, get)"; "" without */
	const char *part; /* whose limit it exceeds; NULL: not known */
	const char *incident; /* its key; NULL: not known, like the next two */
	const char *host;
	const char *boot; /* which of its boots */
	uint32_t pid;
	uint32_t tid;
	uint64_t unit;
	uint64_t begin_ns; /* CLOCK_REALTIME; 0: not known */
	uint64_t elapsed_ns;
	uint64_t limit_ns; /* 0: none */
	struct exported_part parts[EXPORTED_MAX_PARTS]; /* what it took, in no order of time */
	uint32_t nr_parts;
	struct exported_stack *stacks; /* in the order of time */
	uint32_t nr_stacks;
};

/* Return: 0, or what ends it. */
typedef int (*exported_fn)(const struct exported *exported, void *arg);

/* All incidents whose lines were kept.  Returns 0, -ENOMEM, or what @fn does. */
int exported_each(const struct incidents *incidents, exported_fn fn, void *arg);

/* "name", or "file+0x12" of the function's first byte, without what would command a terminal. */
char *exported_frame_name(const struct frame *frame, char ret[EXPORTED_NAME_MAX]);

#endif /* _USER_OUT_EXPORT_EXPORTED_H */
