// SPDX-License-Identifier: GPL-2.0

#include "app/arm/upload.h"

#include "link/link.h"

int upload_profile(struct link *link, uint32_t id, const struct loading *loading, const int *fds)
{
	int error = 0;

	for (uint32_t i = 0; i < loading->nr_objects && !error; i++)
		error = link_profile_add_object(link, id, fds[i]);
	if (!error)
		error = link_profile_add(link, id, LOOPS, loading->courses, loading->nr_courses);
	if (!error)
		error = link_profile_add(link, id, GUARDS, loading->guards, loading->nr_guards);
	if (!error)
		error = link_profile_add(link, id, BOUNDARIES, loading->boundaries,
						    loading->nr_boundaries);
	if (!error)
		error = link_profile_add(link, id, TYPES, loading->types, loading->nr_types);
	if (!error)
		error = link_profile_add(link, id, CONTEXTS, loading->contexts,
						  loading->nr_contexts);
	if (!error)
		error = link_profile_add(link, id, WEIGHTS, loading->weights, loading->nr_weights);
	return error;
}
