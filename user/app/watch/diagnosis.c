// SPDX-License-Identifier: GPL-2.0

#include "app/watch/diagnosis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perfguard.h>

#include "app/common/stacks.h"
#include "base/time.h"

static void read_comm(uint32_t pid, uint32_t tid, char comm[16])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(comm, 16, file))
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
}

/* If it waited for a lock when it was seen last: which, and who has it. */
static void find_lock(struct explanation *why, const struct late_unit *unit)
{
	const struct alert_stack *last = NULL;

	for (uint32_t i = unit->nr_stacks; i-- && !last;)
		if (!unit->stacks[i].tid)
			last = &unit->stacks[i];
	if (!last || !last->lock)
		return;
	why->lock = (struct alert_lock){
		.address = last->lock,
		.syscall = last->syscall,
		.holder = last->holder,
	};
	for (uint32_t i = unit->nr_stacks; last->holder && i-- && !why->lock.stack;)
		if (unit->stacks[i].tid == last->holder)
			why->lock.stack = &unit->stacks[i];
	if (last->holder)
		read_comm(why->alert.record->pid, last->holder, why->lock.comm);
	why->alert.lock = &why->lock;
}

/* When the record was made, of CLOCK_MONOTONIC as the stacks are. */
static uint64_t record_ns(const struct record *record)
{
	return time_now_ns() - (time_wall_ns() - record->time_ns);
}

/* That of its type; a unit that runs and has met no guard may be of any. */
static const struct reason_normal *normal_of(const struct explanation *why)
{
	const struct record *record = why->alert.record;

	if (!why->known || (record->kind == PERFGUARD_RECORD_KIND_LATE && !record->nr_met))
		return NULL;
	return &why->known->normal;
}

/* The hot path of all of its stacks so far, and what they say of its time. */
static int weigh(struct explanation *why, const struct late_unit *unit)
{
	uint64_t end_ns = record_ns(why->alert.record);
	const struct account *account = &why->alert.record->account;
	struct hotpath_stack *stacks;
	struct reason_stack *times;
	uint32_t nr = 0;
	int ret = -ENOMEM;

	stacks = calloc(unit->nr_stacks + 1u, sizeof(*stacks));
	times = calloc(unit->nr_stacks + 1u, sizeof(*times));
	if (!stacks || !times)
		goto out;
	for (uint32_t i = 0; i < unit->nr_stacks; i++) {
		const struct alert_stack *stack = &unit->stacks[i];

		if (stack->tid)
			continue;
		times[nr].syscall = stack->syscall;
		times[nr].is_blocked = stack->state == PERFGUARD_STACK_STATE_BLOCKED;
		stacks[nr] = (struct hotpath_stack){
			.at_ns = stack->at_ns,
			.frames = stack->frames,
			.nr_frames = stack->nr_frames,
			.is_blocked = times[nr].is_blocked,
		};
		nr++;
	}
	for (uint32_t i = 0; i < nr; i++)
		times[i].ns = hotpath_weight(stacks, nr, i, end_ns);
	ret = hotpath_init(&why->hotpath, stacks, nr, end_ns);
	reason_set(&why->reason, account, times, nr, normal_of(why));
	why->alert.hotpath = &why->hotpath;
	why->alert.reason = &why->reason;
out:
	free(stacks);
	free(times);
	return ret;
}

/* A function is told once, whatever it was called by. */
static bool is_told(const struct explanation *why, const struct alert_met *met)
{
	for (uint32_t i = 0; i < why->alert.nr_unusual; i++) {
		const struct alert_met *told = &why->met[why->unusual[i]];

		if (told->module == met->module && told->offset == met->offset)
			return true;
	}
	return false;
}

static void set_unusual(struct explanation *why, const struct reason_context *contexts)
{
	uint32_t all[EXPLANATION_MAX_MET], nr;

	nr = reason_contexts(contexts, why->alert.nr_met, all, EXPLANATION_MAX_MET);
	why->alert.unusual = why->unusual;
	for (uint32_t i = 0; i < nr && why->alert.nr_unusual < EXPLANATION_MAX_UNUSUAL; i++)
		if (!is_told(why, &why->met[all[i]]))
			why->unusual[why->alert.nr_unusual++] = all[i];
}

/* The type and the contexts met, by the profile. */
static void set_verdict(const struct known *known, struct explanation *why)
{
	const struct record *record = why->alert.record;
	const struct known_profile *profile;
	struct reason_context contexts[EXPLANATION_MAX_MET];
	struct alert *alert = &why->alert;

	if (!record->profile_id)
		return;
	profile = known_find(known, record->profile_id);
	if (profile && record->type_id)
		why->known = known_type(profile, record->type_id);
	why->type = (struct alert_type){ .id = record->type_id, .accuracy = -1 };
	if (why->known)
		why->type = why->known->type;
	if (record->type_id)
		alert->type = &why->type;
	if (!profile)
		return;
	for (uint32_t i = 0; i < record->nr_met && i < EXPLANATION_MAX_MET; i++) {
		known_met(profile, why->known, &record->met[i], &why->met[i]);
		contexts[i] = why->met[i].context;
		alert->nr_met++;
	}
	alert->met = why->met;
	set_unusual(why, contexts);
}

int explanation_init(struct explanation *why, struct identities *identities,
		     const struct known *known, const struct record *record)
{
	const struct identity *identity;

	*why = (struct explanation){ .alert.record = record };
	identities_trim(identities);
	identity = identity_get(identities, record->image_id, record->pid);
	if (!identity)
		return -ENOMEM;
	why->cgroup = identity_cgroup(record->pid);
	why->alert.exe = identity->exe;
	why->alert.build_id = identity->build_id;
	why->alert.loop = record->loop_id;
	why->alert.cgroup = why->cgroup;
	set_verdict(known, why);
	return 0;
}

void explanation_deinit(struct explanation *why)
{
	hotpath_deinit(&why->hotpath);
	free(why->cgroup);
}

/*
 * A stack that the thread took of itself at the unit's end is that of the wait:
 * it tells nothing of where the time went.
 */
static void drop_end(const struct record *record, struct alert_stack *stacks, uint32_t *nr)
{
	uint32_t kept = 0;

	if (record->kind != PERFGUARD_RECORD_KIND_ENDED)
		return;
	for (uint32_t i = 0; i < *nr; i++) {
		if (stacks[i].state == PERFGUARD_STACK_STATE_SELF)
			free(stacks[i].frames);
		else
			stacks[kept++] = stacks[i];
	}
	*nr = kept;
}

int explanation_add(struct explanation *why, struct unwinder *unwinder, struct late_unit *unit)
{
	const struct record *record = why->alert.record;
	struct alert_stack *stacks;
	uint32_t nr;
	int ret;

	ret = stacks_unwind(unwinder, record, &stacks, &nr);
	if (ret)
		return ret;
	drop_end(record, stacks, &nr);
	ret = late_unit_add(unit, stacks, nr);
	if (ret)
		return ret;
	/* The record's own come last, for they were taken last. */
	why->alert.stacks = unit->stacks + (unit->nr_stacks - nr);
	why->alert.nr_stacks = nr;
	find_lock(why, unit);
	return weigh(why, unit);
}
