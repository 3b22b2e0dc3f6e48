// SPDX-License-Identifier: GPL-2.0

#include "samples.h"

#include <stdlib.h>
#include <string.h>

void samples_deinit(struct samples *samples)
{
	for (uint32_t i = 0; i < samples->nr_objects; i++) {
		free(samples->objects[i].path);
		free(samples->objects[i].build_id);
	}
	for (uint32_t i = 0; i < samples->nr_functions; i++)
		free(samples->functions[i].name);
	for (uint32_t i = 0; i < samples->nr_loops; i++)
		free(samples->loops[i].boundaries);
	for (uint32_t i = 0; i < samples->nr_trees; i++)
		free(samples->trees[i].leaves);
	for (uint32_t i = 0; i < samples->nr_units; i++)
		free(samples->units[i].hits);
	for (uint32_t i = 0; i < samples->nr_guards; i++)
		free(samples->guards[i].functions);
	for (uint32_t i = 0; i < samples->nr_timings; i++)
		free(samples->timings[i].hits);
	free(samples->objects);
	free(samples->functions);
	free(samples->loops);
	free(samples->nodes);
	free(samples->trees);
	free(samples->units);
	free(samples->guards);
	free(samples->timings);
	memset(samples, 0, sizeof(*samples));
}
