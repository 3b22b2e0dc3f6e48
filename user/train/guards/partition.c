// SPDX-License-Identifier: GPL-2.0

#include "train/guards/partition.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Differences of shares below this are rounding. */
#define TINY 1e-12

/* The number of a pair among those since the index was cleared. */
static int find_pair(struct partition *partition, uint32_t group, uint32_t of, uint32_t *ret)
{
	return hash_index_get(&partition->index, hash_mix(0, (uint64_t)group << 32 | of), ret);
}

/* Make the cells of rows whose group is in partition->feature. */
static int make_cells(struct partition *partition)
{
	const struct features *features = partition->features;

	hash_index_clear(&partition->index);
	partition->nr_cells = 0;
	for (uint32_t i = 0; i < partition->nr_groups; i++)
		partition->groups[i] = (struct partition_group){ .first_cell = SAMPLES_NONE };
	for (uint32_t i = 0; i < features->nr_rows; i++) {
		uint32_t group = partition->feature[i], cell;

		if (find_pair(partition, group, features->rows[i].type, &cell))
			return -ENOMEM;
		if (cell == partition->nr_cells) {
			partition->cells[partition->nr_cells++] = (struct partition_cell){
				.group = group,
				.level = features->rows[i].level,
				.next = partition->groups[group].first_cell,
			};
			partition->groups[group].first_cell = cell;
			partition->groups[group].nr_cells++;
		}
		partition->cell_of[i] = cell;
		partition->cells[cell].share += features->rows[i].share;
		partition->groups[group].share += features->rows[i].share;
		partition->groups[group].level +=
			features->rows[i].share * features->rows[i].level;
	}
	for (uint32_t i = 0; i < partition->nr_cells; i++) {
		struct partition_group *group = &partition->groups[partition->cells[i].group];

		if (partition->cells[i].share > group->most)
			group->most = partition->cells[i].share;
	}
	return 0;
}

int partition_init(struct partition *partition, const struct features *features)
{
	size_t nr = (size_t)features->nr_rows + features->nr_starts + 1;

	*partition = (struct partition){ .features = features };
	if (array_new(partition->cell_of, nr) || array_new(partition->cells, nr) ||
	    array_new(partition->groups, nr) || array_new(partition->feature, nr) ||
	    array_new(partition->cells_with, nr) || array_new(partition->cells_seen, nr) ||
	    array_new(partition->groups_with, nr) || array_new(partition->groups_seen, nr))
		goto err_deinit;
	partition->nr_groups = features->nr_starts;
	for (uint32_t i = 0; i < features->nr_rows; i++)
		partition->feature[i] = features->rows[i].start;
	if (!make_cells(partition))
		return 0;
err_deinit:
	partition_deinit(partition);
	return -ENOMEM;
}

void partition_deinit(struct partition *partition)
{
	free(partition->cell_of);
	free(partition->cells);
	free(partition->groups);
	free(partition->feature);
	free(partition->cells_with);
	free(partition->cells_seen);
	free(partition->groups_with);
	free(partition->groups_seen);
	hash_index_deinit(&partition->index);
	memset(partition, 0, sizeof(*partition));
}

static double x_log_x(double x)
{
	return x > TINY ? x * log2(x) : 0;
}

/* Of a part's mean level, times its share. */
static double square(double level, double share)
{
	return share > TINY ? level * level / share : 0;
}

/* What is summed while the gain of a column is found. */
struct partition_sums {
	double bits; /* - entropy of the parts, times their share */
	double right;
	double squares; /* of the parts' mean levels, times their share */
	uint32_t nr_cells; /* cells_seen */
	uint32_t nr_groups; /* groups_seen */
};

/* The entries from @entry on that have the same feature become parts of their own. */
static const struct features_entry *add_feature(struct partition *partition,
						struct partition_sums *sums,
						const struct features_entry *entry,
						const struct features_entry *end)
{
	uint32_t nr_cells = 0, nr_groups = 0, feature = entry->feature;

	for (; entry < end && entry->feature == feature; entry++) {
		uint32_t at = partition->cell_of[entry->row];
		struct partition_cell *cell = &partition->cells[at];

		if (partition->groups[cell->group].nr_cells == 1)
			continue;
		if (cell->with <= 0)
			partition->cells_with[nr_cells++] = at;
		cell->with += partition->features->rows[entry->row].share;
	}
	for (uint32_t i = 0; i < nr_cells; i++) {
		struct partition_cell *cell = &partition->cells[partition->cells_with[i]];
		struct partition_group *group = &partition->groups[cell->group];

		if (group->with <= 0)
			partition->groups_with[nr_groups++] = cell->group;
		group->with += cell->with;
		group->level_with += cell->with * cell->level;
		if (cell->with > group->most_with)
			group->most_with = cell->with;
		sums->bits += x_log_x(cell->with);
		if (cell->seen <= 0)
			partition->cells_seen[sums->nr_cells++] = partition->cells_with[i];
		cell->seen += cell->with;
		cell->with = 0;
	}
	for (uint32_t i = 0; i < nr_groups; i++) {
		struct partition_group *group = &partition->groups[partition->groups_with[i]];

		sums->bits -= x_log_x(group->with);
		sums->right += group->most_with;
		sums->squares += square(group->level_with, group->with);
		if (group->seen <= 0)
			partition->groups_seen[sums->nr_groups++] = partition->groups_with[i];
		group->seen += group->with;
		group->level_seen += group->level_with;
		group->with = group->most_with = group->level_with = 0;
	}
	return entry;
}

/* Of the groups that were parted, what has no feature is a part as well. */
static void add_rest(struct partition *partition, struct partition_sums *sums)
{
	for (uint32_t i = 0; i < sums->nr_groups; i++) {
		struct partition_group *group = &partition->groups[partition->groups_seen[i]];
		double most = 0;

		for (uint32_t at = group->first_cell; at != SAMPLES_NONE;
		     at = partition->cells[at].next) {
			double rest = partition->cells[at].share - partition->cells[at].seen;

			if (rest > most)
				most = rest;
		}
		sums->right += most - group->most;
		sums->bits += x_log_x(group->share) - x_log_x(group->share - group->seen);
		sums->squares += square(group->level - group->level_seen,
					group->share - group->seen) -
				 square(group->level, group->share);
		group->seen = group->level_seen = 0;
	}
	for (uint32_t i = 0; i < sums->nr_cells; i++) {
		struct partition_cell *cell = &partition->cells[partition->cells_seen[i]];

		sums->bits -= x_log_x(cell->share) - x_log_x(cell->share - cell->seen);
		cell->seen = 0;
	}
}

struct partition_gain partition_gain(struct partition *partition, uint32_t function)
{
	const struct features_column *column = &partition->features->columns[function];
	const struct features_entry *entry = &partition->features->entries[column->first_entry];
	const struct features_entry *end = entry + column->nr_entries;
	struct partition_sums sums = { 0 };

	while (entry < end)
		entry = add_feature(partition, &sums, entry, end);
	add_rest(partition, &sums);
	return (struct partition_gain){ sums.bits, sums.right, sums.squares };
}

int partition_split(struct partition *partition, uint32_t function)
{
	const struct features *features = partition->features;
	const struct features_column *column = &features->columns[function];

	memset(partition->feature, 0, features->nr_rows * sizeof(*partition->feature));
	for (size_t i = column->first_entry; i < column->first_entry + column->nr_entries; i++)
		partition->feature[features->entries[i].row] = features->entries[i].feature + 1;
	hash_index_clear(&partition->index);
	for (uint32_t i = 0; i < features->nr_rows; i++)
		if (find_pair(partition, partition->cells[partition->cell_of[i]].group,
			      partition->feature[i], &partition->feature[i]))
			return -ENOMEM;
	partition->nr_groups = partition->index.nr;
	return make_cells(partition);
}
