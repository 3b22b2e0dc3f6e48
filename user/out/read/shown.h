/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An incident, as one of a group that is shown, with all that its lines say.
 */
#ifndef _USER_OUT_READ_SHOWN_H
#define _USER_OUT_READ_SHOWN_H

#include <stdint.h>

#include <jansson.h>

#include "out/read/incident.h"
#include "out/read/read-path.h"

enum {
	SHOWN_MAX_LINES = 64, /* the last ones */
	SHOWN_MAX_PLACE = 256,
};

struct shown {
	const struct incident *incident;
	json_t *lines[SHOWN_MAX_LINES]; /* the last one first */
	uint32_t nr_lines;
	const json_t *object; /* the one that says most of it at its end; NULL: no line was kept */
	struct read_stacks stacks; /* of all lines */
	struct hotpath hotpath;
	char place[SHOWN_MAX_PLACE]; /* where most of its time went; "-" if nothing shows that */
};

/* Returns 0 or -ENOMEM; shown_deinit() in any case. */
int shown_init(struct shown *shown, const struct incidents *incidents, uint32_t index);
void shown_deinit(struct shown *shown);

#endif /* _USER_OUT_READ_SHOWN_H */
