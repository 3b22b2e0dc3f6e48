/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The JSON of OTLP: a request to export log records, and what is said of it.  Names of attributes
 * are those of OpenTelemetry's semantic conventions where there are any; what else an alert has is
 * below "perfguard.", as in its JSON.
 */
#ifndef _USER_NET_OTLP_REQUEST_H
#define _USER_NET_OTLP_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "store/spool-cursor.h"

struct otlp_source {
	const char *machine;
	const char *host; /* its name */
	const char *version; /* of this program */
};

/*
 * The request for those of the batch that are reported, *@ret_nr.  The caller's to free; NULL if
 * there is no memory.
 */
char *otlp_request(const struct spool_batch *batch, const struct otlp_source *source,
		   uint32_t *ret_nr);

/* Of an answer with status 200: how many records were rejected, and why. */
uint64_t otlp_rejected(const char *text, size_t len, char *why, size_t size);

#endif /* _USER_NET_OTLP_REQUEST_H */
