/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A way by which alerts get to another machine.  The forwarder (app/forward/) has the cursor, the
 * waiting and the counting; a transport passes one batch on, and says how far it came.
 */
#ifndef _USER_NET_TRANSPORT_H
#define _USER_NET_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/spool-cursor.h"

enum { TRANSPORT_WHY_MAX = 512 };

struct passing {
	uint32_t nr_done; /* the first so many of the batch: what follows is tried again */
	uint32_t nr_refused; /* of them: they never will be taken */
	uint32_t nr_left_out; /* of them: they are not for this one */
	bool is_interrupted; /* by pending_end(): what is not done was given up, and has not failed */
	uint64_t wait_ns; /* for which the other side wants to be left alone; 0: it said nothing */
	char why[TRANSPORT_WHY_MAX]; /* not all was passed on, or some was refused; else "" */
};

struct transport {
	/* May take some seconds; ends soon if pending_end(), and then says that it did. */
	void (*pass)(struct transport *transport, const struct spool_batch *batch,
		     struct passing *ret);
	void (*close)(struct transport *transport);
};

#endif /* _USER_NET_TRANSPORT_H */
