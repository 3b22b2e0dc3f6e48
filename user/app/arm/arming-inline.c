// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arming.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "base/log.h"
#include "base/open-in-root.h"
#include "binary/helper/foreign-code.h"
#include "train/guards/features.h"

/* Where events begin there is always a breakpoint. */
static bool begins_events(const struct loading *loading, uint32_t guard)
{
	for (uint32_t i = 0; i < loading->nr_boundaries; i++) {
		uint32_t role = loading->boundaries[i].role;

		if ((role == PERFGUARD_BOUNDARY_ROLE_EVENT_SITE ||
		     role == PERFGUARD_BOUNDARY_ROLE_START_SITE) &&
		    loading->boundaries[i].guard == guard)
			return true;
	}
	return false;
}

static const struct foreign_function *function_at(const struct foreign_code *code, uint64_t offset)
{
	for (uint32_t i = 0; i < code->nr_functions; i++)
		if (code->functions[i].described.offset == offset)
			return &code->functions[i];
	return NULL;
}

void arming_move_guards(struct loading *loading, const struct samples *samples, uint32_t object,
			const struct foreign_code *code)
{
	for (uint32_t i = 0; i < loading->nr_guards; i++) {
		const struct samples_function *guarded = &samples->functions[loading->functions[i]];
		const struct foreign_function *function = NULL;

		if (guarded->object == object && !begins_events(loading, i))
			function = function_at(code, guarded->offset);
		if (!function || function->window.verdict != WINDOW_SITE_FOUND)
			continue;
		loading->guards[i].offset = function->window.offset;
		loading->guards[i].sp_delta = function->window.sp_delta;
	}
}

/* Why no guard may jump where this file is mapped, or NULL; *@ret_error is set to what ends us. */
static const char *why_not(struct arming *arming, uint32_t object, int *ret_error)
{
	const char *path = arming->samples.objects[object].path;
	int fd = open_in_root(*arming->root ? arming->root : "/", path, O_RDONLY | O_NONBLOCK);
	struct foreign_code *code;
	const char *ret = NULL;
	int error;

	if (fd < 0)
		return "cannot be opened, and may use the base of gs";
	error = foreign_code_open_with_windows(fd, path, &code);
	close(fd);
	*ret_error = error == -ENOMEM || error == -EINTR ? error : 0;
	if (error)
		return "cannot be read, and may use the base of gs";
	if (!code->uses_gs)
		arming_move_guards(&arming->loading, &arming->samples, object, code);
	else
		ret = "uses the base of gs, by which jumps find where to note a hit";
	foreign_code_close(code);
	return ret;
}

int arming_judge_inline(struct arming *arming)
{
	int error = 0;

	for (uint32_t i = 0; i < arming->samples.nr_objects && arming->is_inline; i++) {
		const char *path = arming->samples.objects[i].path;
		const char *why = why_not(arming, i, &error);

		if (error == -ENOMEM)
			return cmd_no_memory();
		if (error)
			return CMD_FAILED;
		if (!why)
			continue;
		log_warning("%s %s; guards stay breakpoints", path, why);
		arming->is_inline = false;
	}
	if (arming->model.is_inline && !arming->is_inline)
		log_warning("%s: the guards were chosen to be jumps, and cost %d times as much as "
			    "breakpoints: use --inline, or choose others by 'pg-collect learn'",
			    arming->asked, FEATURES_PARTS / FEATURES_JUMP_PARTS);
	return 0;
}
