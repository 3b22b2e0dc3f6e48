// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arm-files.h"

#include "app/common/command.h"
#include "app/learn/learning.h"
#include "app/learn/live-learning.h"
#include "base/duration.h"
#include "base/log.h"

/* Between two passes lies as much again, up to a day. */
#define MAX_SPAN_NS (24 * 3600 * NSEC_PER_SEC)

/* One pass: watch for @span_ns, keep what was learnt. */
static int learn_limits(const char *path, uint64_t span_ns)
{
	struct learning learning;
	int ret;

	learning_init(&learning);
	learning.path = path;
	ret = learning_load(&learning);
	if (!ret) {
		learning_note_settings(&learning, 2, (char *[]){ "arm", "--adapt" });
		ret = live_learn(&learning, span_ns);
	}
	if (!ret)
		ret = learning_save(&learning);
	learning_deinit(&learning);
	return ret;
}

int arm_adapt(struct arm_files *arm, uint64_t span_ns)
{
	int ret = arm_files(arm);

	while (!ret) {
		char text[DURATION_TEXT_MAX];

		log_progress("limits are learnt from the next %s", duration_format(span_ns, text));
		ret = learn_limits(arm->paths[0], span_ns) ?: arm_files(arm);
		span_ns = span_ns < MAX_SPAN_NS / 2 ? 2 * span_ns : MAX_SPAN_NS;
	}
	return ret;
}
