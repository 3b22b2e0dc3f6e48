// SPDX-License-Identifier: GPL-2.0

#include "app/arm/upload.h"

#include "link/link.h"

int upload_profile(struct link *link, uint32_t id, const struct loading *loading, const int *fds)
{
	int error = 0;

	for (uint32_t i = 0; i < loading->nr_objects && !error; i++)
		error = link_profile_add_object(link, id, fds[i]);
	if (!error)
		error = link_profile_add_loops(link, id, loading->courses,
						 loading->nr_courses);
	if (!error)
		error = link_profile_add_guards(link, id, loading->guards, loading->nr_guards);
	if (!error)
		error = link_profile_add_boundaries(link, id, loading->boundaries,
						    loading->nr_boundaries);
	if (!error)
		error = link_profile_add_types(link, id, loading->types, loading->nr_types);
	if (!error)
		error = link_profile_add_contexts(link, id, loading->contexts,
						  loading->nr_contexts);
	if (!error)
		error = link_profile_add_weights(link, id, loading->weights,
						 loading->nr_weights);
	return error;
}
