// SPDX-License-Identifier: GPL-2.0

#include "app/audit/program-check.h"

#include <inttypes.h>

#include "app/audit/generated-code.h"
#include "app/audit/session.h"
#include "app/audit/short-lives.h"
#include "app/common/check-report.h"
#include "app/common/command.h"
#include "base/duration.h"
#include "base/long-step.h"
#include "out/text.h"

/* An interpreter's own functions show what it runs; a compiler at run time hides it. */
#define MUCH_GENERATED 0.25
#define NO_GUARDS "audit it; it cannot be guarded"

/* What the loops of a program have in all. */
struct sums {
	uint32_t loops;
	uint64_t units;
	uint64_t generated; /* units of loops that run in code made at run time */
};

static bool is_generated(const struct discovery *discovery, const struct loop *loop)
{
	for (uint32_t i = 0; i < discovery->nr_images; i++) {
		const struct image *image = &discovery->images[i];

		if (image->id == loop->image_id && loop->id && loop->id <= image->nr_loops)
			return image->loops[loop->id - 1].is_generated;
	}
	return false;
}

static struct sums sum_loops(const struct session *session)
{
	struct sums sums = { 0 };

	for (uint32_t i = 0; i < session->nr_loops; i++) {
		const struct loop *loop = &session->loops[i];

		sums.loops += loop->units != 0;
		sums.units += loop->units;
		if (is_generated(&session->discovery, loop))
			sums.generated += loop->units;
	}
	return sums;
}

static void find_units(struct findings *findings, const struct session *session)
{
	const struct sums sums = sum_loops(session);
	char duration[DURATION_TEXT_MAX];

	duration_format(session->end_ns - session->start_ns, duration);
	if (sums.units)
		findings_add(findings, FINDING_OK, "units", NULL,
			     "%" PRIu64 " in %s, in %" PRIu32 " event loop%s", sums.units, duration,
			     sums.loops, text_plural(sums.loops));
	else
		findings_add(findings, FINDING_UNKNOWN, "units", "check it under its load",
			     "none ended in %s", duration);
}

/* What speaks against units being requests, or against guards. */
static void find_obstacles(struct findings *findings, const struct session *session,
			   const struct generated_code *code)
{
	const double share = generated_code_share(code);
	const struct sums sums = sum_loops(session);
	char text[160];

	if (short_lives_text(session, text, sizeof(text)))
		findings_add(findings, FINDING_NOTE, "threads",
			     "train on it: their lives are units then; in an audit they are not",
			     "%s", text);
	if (sums.generated && 2 * sums.generated >= sums.units)
		findings_add(findings, FINDING_BAD, "code", NO_GUARDS,
			     "%.0f %% of the units are of loops in code that is in no file, as it is made at run time",
			     100.0 * (double)sums.generated / (double)sums.units);
	else if (share >= MUCH_GENERATED)
		findings_add(findings, FINDING_BAD, "code", NO_GUARDS,
			     "%.0f %% of what it computes is for code that is in no file, as it is made at run time",
			     100.0 * share);
}

static int follow(struct session *session, void *arg)
{
	return generated_code_follow(arg, session->processes, session->nr_known) ?
		       cmd_no_memory() : 0;
}

int program_check(struct findings *findings, struct session *session)
{
	struct generated_code code = { 0 };
	int ret, finish;

	session->threshold_ns = LINK_NEVER_LATE_NS;
	session->turn = follow;
	session->turn_arg = &code;
	long_step_begin("watching the program");
	ret = session_begin(session);
	if (!ret)
		ret = session_run(session);
	finish = session_finish(session);
	if (!ret)
		ret = finish;
	if (!ret) {
		find_units(findings, session);
		find_obstacles(findings, session, &code);
	}
	generated_code_deinit(&code);
	session_deinit(session);
	long_step_end();
	return ret;
}
