// SPDX-License-Identifier: GPL-2.0

#include "app/audit/named-wait.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/command.h"
#include "base/base-name.h"
#include "base/syscall-name.h"

/* The number of the wait call that the first @size bytes of @name are; false if there is none. */
static bool find_call(const char *name, size_t size, uint32_t *ret)
{
	enum { MAX_CALL = 512 };

	for (uint32_t call = 0; call < MAX_CALL; call++) {
		const char *its = syscall_name(call);

		if (!its || strlen(its) != size || memcmp(its, name, size) != 0)
			continue;
		*ret = call;
		return true;
	}
	return false;
}

static bool parse(const char *text, struct named_wait *ret)
{
	const char *at = strchr(text, '@'), *plus = strrchr(text, '+');
	char *end;

	if (!at || !plus || plus < at + 2 || !find_call(text, (size_t)(at - text), &ret->syscall))
		return false;
	errno = 0;
	ret->text = text;
	ret->place = at + 1;
	ret->place_size = (int)(plus - at - 1);
	ret->offset = strtoull(plus + 1, &end, 16);
	return !errno && end != plus + 1 && !*end && plus[1] != '-';
}

int option_loop(const struct option_use *use, void *to)
{
	struct named_waits *waits = to;

	if (waits->nr == NAMED_WAITS_MAX)
		return cmd_usage(use->verb, "%s takes %d waits at most", use->name, NAMED_WAITS_MAX);
	if (parse(use->text, &waits->of[waits->nr])) {
		waits->nr++;
		return 0;
	}
	return cmd_usage(use->verb,
			 "%s '%s' is no wait such as epoll_wait@server+0x53ff4: a wait call, and where it is called, as an audit prints it",
			 use->name, use->text);
}

static bool is_named(const struct named_wait *wait, const char *name)
{
	return strlen(name) == (size_t)wait->place_size &&
	       !memcmp(name, wait->place, (size_t)wait->place_size);
}

/* As text_frame() prints it: by its function, or else by its module. */
static bool is_frame(const struct named_wait *wait, const struct frame *frame)
{
	if (frame->function && frame->function_offset == wait->offset &&
	    is_named(wait, frame->function))
		return true;
	return frame->module && frame->offset == wait->offset &&
	       is_named(wait, base_name(frame->module));
}

uint32_t named_waits_frame(const struct named_waits *waits, uint32_t syscall,
			   const struct frame *frames, uint32_t nr_frames)
{
	for (uint32_t i = 0; i < nr_frames; i++)
		for (uint32_t j = 0; j < waits->nr; j++)
			if (waits->of[j].syscall == syscall && is_frame(&waits->of[j], &frames[i]))
				return i;
	return NAMED_WAIT_NONE;
}
