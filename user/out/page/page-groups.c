// SPDX-License-Identifier: GPL-2.0

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "out/page/page-model.h"
#include "out/read/json-value.h"

/* Those of a group are together, the slowest first. */
static int order_by_group(const void *a, const void *b, void *arg)
{
	const struct incidents *incidents = arg;
	const struct incident *one = &incidents->of[*(const uint32_t *)a];
	const struct incident *other = &incidents->of[*(const uint32_t *)b];

	return order_of(one->group, other->group) ?: order_of(other->elapsed_ns, one->elapsed_ns) ?:
	       order_of(one->begin_ns, other->begin_ns);
}

static int order_by_time(const void *a, const void *b)
{
	const struct page_group *one = a, *other = b;

	return order_of(other->sum_ns, one->sum_ns) ?: order_of(one->first, other->first);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void group_add(struct page_group *group, const struct incidents *incidents, uint32_t index)
{
	const struct incident *incident = &incidents->of[index];

	if (!group->nr || incident->elapsed_ns < group->min_ns)
		group->min_ns = incident->elapsed_ns;
	if (incident->elapsed_ns > group->max_ns)
		group->max_ns = incident->elapsed_ns;
	if (incident->begin_ns && (!group->begin_ns || incident->begin_ns < group->begin_ns))
		group->begin_ns = incident->begin_ns;
	if (incident->begin_ns > group->last_ns)
		group->last_ns = incident->begin_ns;
	group->sum_ns = add_up(group->sum_ns, incident->elapsed_ns);
	if (incidents->of[group->shown].last_line == HASH_INDEX_NONE)
		group->shown = index;
	group->nr++;
}

static void make_groups(struct page_groups *groups, const struct incidents *incidents)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < incidents->nr; i++) {
		uint32_t index = groups->order[i];
		const struct incident *incident = &incidents->of[index];

		if (!i || incident->group != last)
			groups->of[groups->nr++] = (struct page_group){
				.kind = incident->kind,
				.first = i,
				.shown = index,
			};
		last = incident->group;
		group_add(&groups->of[groups->nr - 1], incidents, index);
		groups->rank_of[index] = groups->nr - 1;
	}
}

/* By the number of their first alert, then by time: a module that is loaded begins with 1. */
static int order_by_seq(const void *a, const void *b, void *arg)
{
	const struct incidents *incidents = arg;
	const struct incident *one = &incidents->of[*(const uint32_t *)a];
	const struct incident *other = &incidents->of[*(const uint32_t *)b];

	return order_of(one->seq, other->seq) ?: order_of(one->begin_ns, other->begin_ns);
}

static void add_folded(struct page_groups *groups, const struct incidents *incidents,
		       const uint32_t *by_seq, const struct page_note *note, const json_t *object)
{
	const json_t *elapsed = json_object_get(object, "elapsed_ns");
	uint64_t seq = value_u64(object, "seq"), nr = value_u64(object, "count"), max_ns;
	uint64_t mean_ns = (value_u64(elapsed, "min") + value_u64(elapsed, "max")) / 2;
	size_t at = array_bisect(i, incidents->nr, incidents->of[by_seq[i]].seq > seq ||
				 (incidents->of[by_seq[i]].seq == seq &&
				  incidents->of[by_seq[i]].begin_ns > note->time_ns));
	struct page_group *group;

	nr = nr < UINT32_MAX ? nr : UINT32_MAX;
	if (!seq || !at || incidents->of[by_seq[at - 1]].seq != seq) {
		groups->nr_folded += nr;
		return;
	}
	max_ns = value_u64(elapsed, "running");
	max_ns = value_u64(elapsed, "max") > max_ns ? value_u64(elapsed, "max") : max_ns;
	group = &groups->of[groups->rank_of[by_seq[at - 1]]];
	group->nr_folded += nr;
	groups->windows[groups->nr_windows++] = (struct page_window){
		.time_ns = note->time_ns,
		.max_ns = max_ns,
		.nr = (uint32_t)nr,
		.incident = by_seq[at - 1],
	};
	if (max_ns > group->max_ns)
		group->max_ns = max_ns;
	if (value_u64(elapsed, "min") && value_u64(elapsed, "min") < group->min_ns)
		group->min_ns = value_u64(elapsed, "min");
	if (note->time_ns > group->last_ns)
		group->last_ns = note->time_ns;
	mean_ns = mean_ns ? mean_ns : max_ns;
	group->sum_ns = mean_ns && nr > UINT64_MAX / mean_ns ? UINT64_MAX :
			add_up(group->sum_ns, nr * mean_ns);
}

static int add_all_folded(struct page_groups *groups, const struct page *page)
{
	uint32_t *by_seq;

	if (array_new(groups->windows, page->nr_notes) || array_new(by_seq, page->incidents.nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < page->incidents.nr; i++)
		by_seq[i] = i;
	qsort_r(by_seq, page->incidents.nr, sizeof(*by_seq), order_by_seq,
		(void *)&page->incidents);
	for (uint32_t i = 0; i < page->nr_notes; i++) {
		json_t *object;

		if (page->notes[i].kind != NOTE_REPEATED)
			continue;
		object = value_parse(page->notes[i].text, page->notes[i].len);
		add_folded(groups, &page->incidents, by_seq, &page->notes[i], object);
		json_decref(object);
	}
	free(by_seq);
	return 0;
}

int page_groups_init(struct page_groups *groups, const struct page *page)
{
	const struct incidents *incidents = &page->incidents;

	*groups = (struct page_groups){ 0 };
	if (array_new(groups->of, incidents->nr) || array_new(groups->order, incidents->nr) ||
	    array_new(groups->rank_of, incidents->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < incidents->nr; i++)
		groups->order[i] = i;
	qsort_r(groups->order, incidents->nr, sizeof(*groups->order), order_by_group,
		(void *)incidents);
	make_groups(groups, incidents);
	if (add_all_folded(groups, page))
		return -ENOMEM;
	qsort(groups->of, groups->nr, sizeof(*groups->of), order_by_time);
	for (uint32_t i = 0; i < groups->nr; i++)
		for (uint32_t j = 0; j < groups->of[i].nr; j++)
			groups->rank_of[groups->order[groups->of[i].first + j]] = i;
	for (uint32_t i = 0; i < groups->nr_windows; i++)
		groups->windows[i].group = groups->rank_of[groups->windows[i].incident];
	return 0;
}

void page_groups_deinit(struct page_groups *groups)
{
	free(groups->of);
	free(groups->order);
	free(groups->rank_of);
	free(groups->windows);
	*groups = (struct page_groups){ 0 };
}

uint64_t page_groups_count(const struct page_groups *groups, enum incident_kind kind)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < groups->nr; i++)
		if (groups->of[i].kind == kind)
			nr += groups->of[i].nr + groups->of[i].nr_folded;
	return nr;
}
