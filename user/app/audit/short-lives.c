// SPDX-License-Identifier: GPL-2.0

#include "app/audit/short-lives.h"

#include <inttypes.h>
#include <stdio.h>

#include "app/audit/session.h"
#include "base/log.h"

enum { MANY_THREADS = 16 }; /* fewer may be those of a start, or helpers */

/*
 * Where a request is accepted, there is about one unit for each thread.  With a thread
 * that waits once more, for the next request or the end of its connection, there are two.
 */
bool short_lives_are_most(uint64_t ended, uint64_t there, uint64_t units)
{
	uint64_t began = ended > there ? ended - there : 0;

	return began >= MANY_THREADS && 3 * began >= 2 * units;
}

static uint64_t sum_units(const struct session *session)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < session->nr_loops; i++)
		units += session->loops[i].units;
	return units;
}

bool short_lives_text(const struct session *session, char *text, size_t size)
{
	uint64_t ended = session->target.ended_threads, units = sum_units(session);

	if (!short_lives_are_most(ended, session->discovery.nr_there, units))
		return false;
	snprintf(text, size, "%" PRIu64 " threads ended meanwhile, and %" PRIu64
		 " units: a thread mostly lives for one request",
		 ended, units);
	return true;
}

void short_lives_warn(const struct session *session)
{
	char text[160];

	if (short_lives_text(session, text, sizeof(text)))
		log_warning("%s; what it does is in no unit of an audit, but in one of train",
			    text);
}
