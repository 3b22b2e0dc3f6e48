// SPDX-License-Identifier: GPL-2.0

#include "out/export/exported.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/base-name.h"
#include "base/utf8.h"
#include "out/alert/hotpath.h"
#include "out/read/json-value.h"
#include "out/read/shown.h"

char *exported_frame_name(const struct frame *frame, char ret[EXPORTED_NAME_MAX])
{
	const struct hotpath_place place = hotpath_place(frame);

	if (place.function)
		snprintf(ret, EXPORTED_NAME_MAX, "%s", place.function);
	else
		snprintf(ret, EXPORTED_NAME_MAX, "%s%s0x%" PRIx64,
			 place.module ? base_name(place.module) : "", place.module ? "+" : "",
			 place.offset);
	utf8_make_plain(ret);
	return ret;
}

/* Of a unit these are all of its time; of a request, too, except the run queue, which is in them. */
static void set_parts(struct exported *exported, const json_t *account)
{
	static const char *const unit_parts[] = { "cpu", "runqueue", "blocked", "stopped", NULL };
	static const char *const request_parts[] = {
		"queued", "units", "handed", "peers", "timer", "between", NULL,
	};
	const char *const *names = exported->is_request ? request_parts : unit_parts;

	for (; *names; names++)
		if (value_u64(account, *names))
			exported->parts[exported->nr_parts++] = (struct exported_part){
				*names, value_u64(account, *names),
			};
}

/* When its stacks' clock showed that it began.  Returns false where that is not known. */
static bool find_begin(const struct read_stacks *stacks, uint64_t *ret_ns)
{
	for (uint32_t i = 0; i < stacks->nr; i++) {
		const struct read_stack *stack = &stacks->of[i];

		*ret_ns = stack->at_ns - stack->into_ns;
		if (stack->into_ns && stack->into_ns <= stack->at_ns)
			return true;
	}
	return false;
}

static int set_stacks(struct exported *exported, const struct read_stacks *stacks)
{
	uint64_t begin_ns;
	bool has_begin = find_begin(stacks, &begin_ns);

	if (array_new(exported->stacks, stacks->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < stacks->nr; i++) {
		const struct read_stack *stack = &stacks->of[i];

		if (!stack->nr_frames)
			continue;
		exported->stacks[exported->nr_stacks++] = (struct exported_stack){
			.wall_ns = has_begin && exported->begin_ns && stack->at_ns >= begin_ns ?
					   exported->begin_ns + (stack->at_ns - begin_ns) : 0,
			.ns = read_stacks_weight(stacks, i, exported->elapsed_ns),
			.tid = stack->tid ? stack->tid : exported->tid,
			.frames = stack->frames,
			.nr_frames = stack->nr_frames,
			.syscall = stack->is_blocked ? stack->syscall : NULL,
		};
	}
	return 0;
}

static int hand_out(const struct shown *shown, exported_fn fn, void *arg)
{
	const struct incident *incident = shown->incident;
	const json_t *object = shown->object;
	struct exported exported = {
		.kind = incident_kind_name(incident->kind),
		.is_request = incident_is_request(incident->kind),
		.has_ended = incident->has_ended,
		.comm = value_text(object, "comm") ?: "",
		.place = shown->place,
		.part = value_text(object, "part"),
		.incident = value_text(object, "incident"),
		.host = value_text(object, "host"),
		.boot = value_text(object, "boot_id"),
		.pid = value_u32(object, "pid"),
		.tid = value_u32(object, "tid"),
		.unit = value_u64(object, "unit"),
		.begin_ns = incident->begin_ns,
		.elapsed_ns = incident->elapsed_ns,
		.limit_ns = value_u64(object, "threshold_ns"),
	};
	const char *exe = value_text(object, "exe");
	int ret;

	exported.program = exe ? base_name(exe) : *exported.comm ? exported.comm : "?";
	value_type(object, exported.type, sizeof(exported.type));
	set_parts(&exported, json_object_get(object, "time_ns"));
	ret = set_stacks(&exported, &shown->stacks);
	if (!ret)
		ret = fn(&exported, arg);
	free(exported.stacks);
	return ret;
}

int exported_each(const struct incidents *incidents, exported_fn fn, void *arg)
{
	int ret = 0;

	for (uint32_t i = 0; i < incidents->nr && !ret; i++) {
		struct shown shown;

		ret = shown_init(&shown, incidents, i);
		if (!ret && shown.object)
			ret = hand_out(&shown, fn, arg);
		shown_deinit(&shown);
	}
	return ret;
}
