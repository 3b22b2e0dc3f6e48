// SPDX-License-Identifier: GPL-2.0

#include "app/watch/diagnosis.h"

#include <errno.h>
#include <stdlib.h>

#include <linux/perfguard.h>

#include "app/common/stacks.h"
#include "binary/code/runtimes.h"

/* The lock it waited for when it was seen last, and its holder. */
static void find_lock(struct diagnosis *diagnosis, const struct late_unit *unit)
{
	const struct alert_stack *last = NULL;

	for (uint32_t i = unit->nr_stacks; i-- && !last;)
		if (!unit->stacks[i].tid)
			last = &unit->stacks[i];
	if (!last || !last->lock)
		return;
	diagnosis->lock = (struct alert_lock){
		.address = last->lock,
		.syscall = last->syscall,
		.holder = last->holder,
	};
	for (uint32_t i = unit->nr_stacks; last->holder && i-- && !diagnosis->lock.stack;)
		if (unit->stacks[i].tid == last->holder)
			diagnosis->lock.stack = &unit->stacks[i];
	if (last->holder && !diagnosis->alert.record->is_gone)
		identity_comm(diagnosis->alert.record->pid, last->holder, diagnosis->lock.comm);
	diagnosis->alert.lock = &diagnosis->lock;
}

/* That of its type; a unit that runs and has met no guard may be of any. */
static const struct reason_normal *normal_of(const struct diagnosis *diagnosis)
{
	const struct record *record = diagnosis->alert.record;

	if (!diagnosis->type_now || (record->kind == PERFGUARD_RECORD_KIND_LATE && !record->nr_met))
		return NULL;
	return &diagnosis->type_now->normal;
}

/* What carries out a program in any of the unit's own stacks, or NULL. */
static const char *find_interpreter(const struct late_unit *unit)
{
	const char *ret = NULL;

	for (uint32_t i = 0; i < unit->nr_stacks && !ret; i++) {
		const struct alert_stack *stack = &unit->stacks[i];

		for (uint32_t j = 0; !stack->tid && j < stack->nr_frames && !ret; j++)
			if (stack->frames[j].function)
				ret = runtimes_interpreter(stack->frames[j].function);
	}
	return ret;
}

/* What its stacks so far say of its time; as many as @own, which are in the same order. */
static void set_times(const struct late_unit *unit, const struct hotpath_stack *own, uint32_t nr_own,
		      uint64_t end_ns, struct reason_stack *times)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < unit->nr_stacks; i++) {
		if (unit->stacks[i].tid)
			continue;
		times[nr] = (struct reason_stack){
			.ns = hotpath_weight(own, nr_own, nr, end_ns),
			.syscall = unit->stacks[i].syscall,
			.is_blocked = own[nr].is_blocked,
		};
		nr++;
	}
}

/* The hot path of all of its stacks so far, and where its time went by them. */
static int weigh(struct diagnosis *diagnosis, const struct late_unit *unit)
{
	uint64_t end_ns = diagnosis->alert.record->at_ns;
	const struct account *account = &diagnosis->alert.record->account;
	struct hotpath_stack *stacks;
	struct reason_stack *times;
	uint32_t nr;
	int ret = -ENOMEM;

	stacks = calloc(unit->nr_stacks + 1u, sizeof(*stacks));
	times = calloc(unit->nr_stacks + 1u, sizeof(*times));
	if (!stacks || !times)
		goto out;
	nr = stacks_own(unit->stacks, unit->nr_stacks, stacks);
	set_times(unit, stacks, nr, end_ns, times);
	ret = hotpath_init(&diagnosis->hotpath, stacks, nr, end_ns);
	reason_set(&diagnosis->reason, account, times, nr, normal_of(diagnosis));
	diagnosis->alert.hotpath = &diagnosis->hotpath;
	diagnosis->alert.reason = &diagnosis->reason;
	diagnosis->alert.interpreter = find_interpreter(unit);
out:
	free(stacks);
	free(times);
	return ret;
}

/* A function is named once, whatever it was called by. */
static bool is_named(const struct diagnosis *diagnosis, const struct alert_met *met)
{
	for (uint32_t i = 0; i < diagnosis->alert.nr_unusual; i++) {
		const struct alert_met *named = &diagnosis->met[diagnosis->unusual[i]];

		if (named->module == met->module && named->offset == met->offset)
			return true;
	}
	return false;
}

static void set_unusual(struct diagnosis *diagnosis, const struct reason_context *contexts)
{
	uint32_t all[DIAGNOSIS_MAX_MET], nr;

	nr = reason_contexts(contexts, diagnosis->alert.nr_met, all, DIAGNOSIS_MAX_MET);
	diagnosis->alert.unusual = diagnosis->unusual;
	for (uint32_t i = 0; i < nr && diagnosis->alert.nr_unusual < DIAGNOSIS_MAX_UNUSUAL; i++)
		if (!is_named(diagnosis, &diagnosis->met[all[i]]))
			diagnosis->unusual[diagnosis->alert.nr_unusual++] = all[i];
}

/* The type and the contexts met, by the profile. */
static void set_verdict(const struct profile_cache *cache, struct diagnosis *diagnosis)
{
	const struct record *record = diagnosis->alert.record;
	const struct cached_profile *profile;
	struct reason_context contexts[DIAGNOSIS_MAX_MET];
	struct alert *alert = &diagnosis->alert;

	if (!record->profile_id)
		return;
	profile = profile_cache_find(cache, record->profile_id);
	if (profile && record->type_id)
		diagnosis->type_now = cached_type_find(profile, record->type_id);
	diagnosis->type = (struct alert_type){ .id = record->type_id, .accuracy = -1 };
	if (diagnosis->type_now)
		diagnosis->type = diagnosis->type_now->type;
	if (record->type_id)
		alert->type = &diagnosis->type;
	if (!profile)
		return;
	for (uint32_t i = 0; i < record->nr_met && i < DIAGNOSIS_MAX_MET; i++) {
		cached_profile_met(profile, diagnosis->type_now, &record->met[i], &diagnosis->met[i]);
		contexts[i] = diagnosis->met[i].context;
		alert->nr_met++;
	}
	alert->met = diagnosis->met;
	set_unusual(diagnosis, contexts);
}

/* The name of the process that traces the unit's. */
static void find_tracer(struct diagnosis *diagnosis)
{
	const struct record *record = diagnosis->alert.record;

	if (record->stop_cause != PERFGUARD_STOP_CAUSE_TRACER || !record->stopped_by ||
	    record->is_gone)
		return;
	identity_comm(record->stopped_by, record->stopped_by, diagnosis->tracer);
	if (diagnosis->tracer[0])
		diagnosis->alert.tracer = diagnosis->tracer;
}

int diagnosis_init(struct diagnosis *diagnosis, struct identities *identities,
		     const struct profile_cache *cache, const struct record *record)
{
	const struct identity *identity;

	*diagnosis = (struct diagnosis){ .alert.record = record };
	identities_trim(identities);
	identity = identity_get(identities, record->image_id, record->pid);
	if (!identity)
		return -ENOMEM;
	diagnosis->cgroup = record->is_gone ? NULL : identity_cgroup(record->pid);
	diagnosis->alert.exe = identity->exe;
	diagnosis->alert.build_id = identity->build_id;
	diagnosis->alert.loop = record->loop_id;
	diagnosis->alert.cgroup = diagnosis->cgroup;
	find_tracer(diagnosis);
	set_verdict(cache, diagnosis);
	return 0;
}

void diagnosis_deinit(struct diagnosis *diagnosis)
{
	hotpath_deinit(&diagnosis->hotpath);
	free(diagnosis->cgroup);
}

/*
 * A stack that the thread took of itself at the unit's end is that of the wait:
 * it does not show where the time went.
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

int diagnosis_add(struct diagnosis *diagnosis, struct unwinder *unwinder, struct late_unit *unit)
{
	const struct record *record = diagnosis->alert.record;
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
	diagnosis->alert.stacks = unit->stacks + (unit->nr_stacks - nr);
	diagnosis->alert.nr_stacks = nr;
	find_lock(diagnosis, unit);
	return weigh(diagnosis, unit);
}
