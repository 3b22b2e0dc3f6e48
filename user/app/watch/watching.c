// SPDX-License-Identifier: GPL-2.0

#include "app/watch/watching.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perfguard.h>

#include "app/common/command.h"
#include "app/watch/diagnosis.h"
#include "app/watch/request-alerts.h"
#include "base/duration.h"
#include "base/long-step.h"
#include "base/time.h"
#include "binary/stack/unwind.h"
#include "out/alert/alert.h"
#include "out/text.h"

/* How often watch requests profiles and types, while alerts come and else. */
#define OFTEN_NS NSEC_PER_SEC
#define SELDOM_NS (5 * NSEC_PER_SEC)
#define QUIET_NS (10 * NSEC_PER_SEC)
/* Of a shorter time it is not said who had the CPUs. */
#define STARVATION_NS (900 * NSEC_PER_MSEC)

enum { MAX_USERS = 3 }; /* of the CPUs, that are named */

/* A unit that is still late is printed again from this time on. */
#define STUCK_NS NSEC_PER_SEC

int watching_init(struct watching *watching, struct link *link, uint64_t window_ns, bool is_json)
{
	*watching = (struct watching){ .is_json = is_json, .link = link };
	fold_init(&watching->fold, window_ns);
	watching->unwinder = unwinder_create();
	return watching->unwinder ? 0 : -ENOMEM;
}

void watching_deinit(struct watching *watching)
{
	json_deinit(&watching->json);
	identities_deinit(&watching->identities);
	late_units_deinit(&watching->units);
	profile_cache_deinit(&watching->cache);
	fold_deinit(&watching->fold);
	cpu_users_deinit(&watching->users);
	replacements_deinit(&watching->replacements);
	if (watching->unwinder)
		unwinder_destroy(watching->unwinder);
	memset(watching, 0, sizeof(*watching));
}

FILE *watching_text(const struct watching *watching)
{
	if (watching->sink)
		return watching->sink->text;
	return watching->is_json ? NULL : stdout;
}

FILE *watching_json(const struct watching *watching)
{
	if (watching->sink)
		return watching->sink->json;
	return watching->is_json ? stdout : NULL;
}

int watching_end_alert(struct watching *watching, const struct sunk_alert *alert)
{
	if (watching->sink)
		return watching->sink->take(watching->sink, alert);
	return fflush(stdout) || ferror(stdout) ? -EIO : 0;
}

static int print_level(const struct cached_profile *profile, const struct cached_type *type,
		       void *arg)
{
	struct watching *watching = arg;
	const struct alert_level level = cached_type_level(profile, type, time_wall_ns());
	const struct sunk_alert sunk = {
		.kind = "level", .exe = profile->exe, .type = type->type.id,
		.is_over = !type->regression.is_on,
	};
	int ret = 0;

	if (watching_json(watching))
		ret = alert_level_json(&watching->json, watching_json(watching), &level);
	if (watching_text(watching))
		alert_level_text(watching_text(watching), &level);
	return ret ?: watching_end_alert(watching, &sunk);
}

/* A module that knows no profiles has none; what it cannot answer just now is requested again. */
static int optional(struct watching *watching, int error)
{
	if (error == -EAGAIN)
		cmd_put_off(watching->link, &watching->put_off_ns);
	return error == -EOPNOTSUPP || error == -EAGAIN ? 0 : error;
}

static int refresh(struct watching *watching, uint64_t now_ns)
{
	int ret;

	watching->refreshed_ns = now_ns;
	if (!watching->link)
		return 0;
	ret = optional(watching, profile_cache_refresh(&watching->cache, watching->link));
	if (ret)
		return ret;
	return optional(watching, replacements_look(watching));
}

static int print_starvation(struct watching *watching, const struct alert_cpu_user *users,
			    uint32_t nr)
{
	const struct alert_starvation alert = {
		.time_ns = time_wall_ns(),
		.starvation = &watching->starvation,
		.users = users,
		.nr_users = nr,
	};

	const struct sunk_alert sunk = { .kind = "starved", .is_over = !watching->starvation.is_on };
	int ret = 0;

	if (watching_json(watching))
		ret = alert_starvation_json(&watching->json, watching_json(watching), &alert);
	if (watching_text(watching))
		alert_starvation_text(watching_text(watching), &alert);
	return ret ?: watching_end_alert(watching, &sunk);
}

/* It was found at the last look: print it, with who has used the CPUs since. */
static int print_users(struct watching *watching)
{
	struct alert_cpu_user users[MAX_USERS];
	struct cpu_users now;
	int ret = cpu_users_read(&now);

	if (!ret)
		ret = print_starvation(watching, users,
				       cpu_users_most(&watching->users, &now, users, MAX_USERS));
	cpu_users_deinit(&now);
	cpu_users_deinit(&watching->users);
	return ret;
}

static int look_for_starvation(struct watching *watching)
{
	const struct starvation_sums sums = profile_cache_sums(&watching->cache);
	enum starvation_change change =
		starvation_update(&watching->starvation, &sums, time_wall_ns());
	int ret = 0;

	if (change == STARVATION_BEGUN)
		return cpu_users_read(&watching->users);
	if (watching->users.nr)
		ret = print_users(watching);
	return !ret && change == STARVATION_OVER ? print_starvation(watching, NULL, 0) : ret;
}

static int look(struct watching *watching, uint64_t now_ns)
{
	uint64_t wall_ns = time_wall_ns();
	int ret;

	watching->looked_ns = now_ns;
	if (!watching->link)
		return 0;
	ret = optional(watching, profile_cache_look(&watching->cache, watching->link, wall_ns,
						    print_level, watching));
	if (ret || wall_ns - watching->starvation.read_ns < STARVATION_NS)
		return ret;
	return look_for_starvation(watching);
}

static int print_window(struct watching *watching, const struct fold_window *window,
			uint64_t length_ns)
{
	const struct sunk_alert sunk = {
		.kind = "repeated",
		.exe = window->subject.exe,
		.pid = window->subject.pid,
		.type = window->subject.type,
	};
	int ret = 0;

	if (watching_json(watching))
		ret = alert_folded_json(&watching->json, watching_json(watching), window,
					length_ns, time_wall_ns());
	if (watching_text(watching))
		alert_folded_text(watching_text(watching), window, length_ns, time_wall_ns());
	return ret ?: watching_end_alert(watching, &sunk);
}

static int print_folded(struct watching *watching, uint64_t now_ns)
{
	struct fold_window window;
	int ret = 0;

	while (!ret && fold_next(&watching->fold, now_ns, &window)) {
		uint64_t length_ns = watching->fold.window_ns;

		/* The last one may be cut short. */
		if (now_ns == UINT64_MAX && time_now_ns() - window.begin_ns < length_ns)
			length_ns = time_now_ns() - window.begin_ns;
		ret = print_window(watching, &window, length_ns);
	}
	return ret;
}

/* The sampling interval: longer where nothing is late and nobody waits, and few units end. */
static uint64_t step_ns(const struct watching *watching, uint64_t now_ns)
{
	uint64_t step = profile_cache_step_ns(&watching->cache);

	if (now_ns - watching->alerted_ns <= QUIET_NS || watching->starvation.is_on)
		return step < OFTEN_NS ? step : OFTEN_NS;
	return step;
}

int watching_tick(struct watching *watching)
{
	uint64_t now_ns = time_now_ns();
	int ret = 0;

	if (!watching->refreshed_ns || now_ns - watching->refreshed_ns >= SELDOM_NS)
		ret = refresh(watching, now_ns);
	if (!ret && now_ns - watching->looked_ns >= step_ns(watching, now_ns))
		ret = look(watching, now_ns);
	return ret ? ret : print_folded(watching, now_ns);
}

uint64_t watching_wait_ns(const struct watching *watching)
{
	uint64_t now_ns = time_now_ns(), step = step_ns(watching, now_ns);
	uint64_t due_ns = fold_due(&watching->fold);

	if (due_ns <= now_ns)
		return 0;
	return due_ns - now_ns < step ? due_ns - now_ns : step;
}

int watching_finish(struct watching *watching)
{
	return print_folded(watching, UINT64_MAX);
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static char *place_name(const struct hotpath *hotpath)
{
	char text[PARAGRAPH_MAX];

	hotpath_name(hotpath, text, sizeof(text));
	return text[0] ? strdup(text) : NULL;
}

/* Return: true if it is folded into others, which @unit, if not NULL, remembers. */
static bool fold(struct watching *watching, const struct diagnosis *diagnosis,
		 struct late_unit *unit, uint64_t path)
{
	const struct record *record = diagnosis->alert.record;
	bool has_ended = record->kind != PERFGUARD_RECORD_KIND_LATE;
	const struct fold_key key = { record->target_id, record->type_id, path };
	struct fold_subject subject = {
		.seq = record->seq,
		.type = record->profile_id ? record->type_id : 0,
		.pid = record->pid,
		.group = alert_unit_group(&diagnosis->alert),
		.is_novel = record->kind == PERFGUARD_RECORD_KIND_NOVEL,
	};
	uint64_t id;

	if (unit && unit->fold_id &&
	    fold_go_on(&watching->fold, unit->fold_id, record->account.elapsed_ns, has_ended))
		return true;
	subject.exe = copy(diagnosis->alert.exe);
	subject.build_id = copy(diagnosis->alert.build_id);
	subject.comm = copy(record->comm);
	subject.type_name = copy(diagnosis->type.name);
	subject.function = place_name(&diagnosis->hotpath);
	id = fold_add(&watching->fold, &key, &subject, time_now_ns(), record->account.elapsed_ns,
		      has_ended);
	fold_subject_clear(&subject);
	if (unit)
		unit->fold_id = id;
	return id != 0;
}

static void print_text(FILE *file, const struct alert *alert, const struct late_unit *unit,
		       uint64_t path)
{
	const struct record *record = alert->record;

	/* Its end will come soon, or another record at twice the time. */
	if (unit && unit->is_printed && record->kind == PERFGUARD_RECORD_KIND_LATE &&
	    record->account.elapsed_ns < STUCK_NS)
		return;
	if (record->kind == PERFGUARD_RECORD_KIND_NOVEL)
		alert_novel_text(file, alert);
	else if (unit && unit->is_printed)
		alert_again_text(file, alert, unit->printed_ns, path != unit->printed_path);
	else
		alert_text(file, alert);
}

/* Its JSON, and its text if @has_text. */
static int put(struct watching *watching, const struct diagnosis *diagnosis,
	       const struct late_unit *unit, uint64_t path, bool has_text)
{
	const struct alert *alert = &diagnosis->alert;
	const struct record *record = alert->record;
	const struct sunk_alert sunk = {
		.kind = alert_kind_name(record->kind),
		.exe = alert->exe,
		.build_id = alert->build_id,
		.pid = record->pid,
		.type = record->profile_id ? record->type_id : 0,
		.record = record,
	};
	int ret = 0;

	if (watching_json(watching))
		ret = alert_json(&watching->json, watching_json(watching), alert, sunk.kind);
	if (has_text && watching_text(watching))
		print_text(watching_text(watching), alert, unit, path);
	return ret ?: watching_end_alert(watching, &sunk);
}

static int print(struct watching *watching, const struct diagnosis *diagnosis,
		 const struct late_unit *unit, uint64_t path)
{
	return put(watching, diagnosis, unit, path, true);
}

/* It is folded into others: only who keeps all wants it. */
static int keep(struct watching *watching, const struct diagnosis *diagnosis)
{
	return watching->sink ? put(watching, diagnosis, NULL, 0, false) : 0;
}

static int take_novel(struct watching *watching, const struct record *record)
{
	struct diagnosis diagnosis;
	int ret;

	ret = diagnosis_init(&diagnosis, &watching->identities, &watching->cache, record);
	diagnosis.alert.hotpath = &diagnosis.hotpath;
	diagnosis.alert.is_brief = watching->is_brief;
	if (!ret)
		ret = fold(watching, &diagnosis, NULL, FOLD_NOVEL) ?
			      keep(watching, &diagnosis) :
			      print(watching, &diagnosis, NULL, 0);
	diagnosis_deinit(&diagnosis);
	return ret;
}

static int report(struct watching *watching, struct diagnosis *diagnosis, struct late_unit *unit)
{
	const struct record *record = diagnosis->alert.record;
	bool is_stop = alert_is_stop(record);
	uint64_t path = is_stop ? FOLD_STOPPED : hotpath_hash(&diagnosis->hotpath);
	int ret;

	if (!unit->is_printed && watching->fold.window_ns) {
		if (diagnosis->type_now && !is_stop &&
		    regression_covers(&diagnosis->type_now->regression, record->account.elapsed_ns,
				 record->threshold_ns))
			return keep(watching, diagnosis);
		if (fold(watching, diagnosis, unit, path))
			return keep(watching, diagnosis);
	}
	ret = print(watching, diagnosis, unit, path);
	if (!unit->is_printed)
		unit->printed_ns = record->account.elapsed_ns;
	unit->is_printed = true;
	unit->printed_path = path;
	return ret;
}

/*
 * Programs that come and go bring names without an end.  Units that are late at
 * this moment are forgotten with them: what is heard of them next is printed as
 * if it were the first.
 */
static void bound_names(struct watching *watching)
{
	if (!unwinder_is_full(watching->unwinder))
		return;
	late_units_deinit(&watching->units);
	unwinder_forget(watching->unwinder);
}

static int take_late(struct watching *watching, const struct record *record)
{
	struct diagnosis diagnosis;
	struct late_unit *unit;
	int ret;

	unit = late_units_get(&watching->units, record);
	if (!unit)
		return -ENOMEM;
	if (!unit->is_counted)
		watching->nr_late++;
	unit->is_counted = true;
	ret = diagnosis_init(&diagnosis, &watching->identities, &watching->cache, record);
	diagnosis.alert.is_brief = watching->is_brief;
	if (!ret)
		ret = diagnosis_add(&diagnosis, watching->unwinder, unit);
	if (!ret)
		ret = report(watching, &diagnosis, unit);
	diagnosis_deinit(&diagnosis);
	if (record->kind == PERFGUARD_RECORD_KIND_ENDED)
		late_units_remove(&watching->units, unit);
	return ret;
}

static int take(struct watching *watching, const struct record *record)
{
	const struct diagnosis other = { .alert.record = record };
	uint64_t now_ns = time_now_ns();
	int ret;

	/* A profile that was armed just now. */
	if (record->profile_id && !profile_cache_find(&watching->cache, record->profile_id) &&
	    now_ns - watching->refreshed_ns >= OFTEN_NS) {
		ret = refresh(watching, now_ns);
		watching->looked_ns = 0;
		if (ret)
			return ret;
	}
	watching->alerted_ns = now_ns;
	/* What is usual now is what an alert is compared with. */
	if (record->profile_id && now_ns - watching->looked_ns >= OFTEN_NS) {
		ret = look(watching, now_ns);
		if (ret)
			return ret;
	}
	bound_names(watching);
	switch (record->kind) {
	case PERFGUARD_RECORD_KIND_LATE:
	case PERFGUARD_RECORD_KIND_ENDED:
		return take_late(watching, record);
	case PERFGUARD_RECORD_KIND_NOVEL:
		return take_novel(watching, record);
	case PERFGUARD_RECORD_KIND_REQUEST:
		return request_alerts_take(watching, record);
	}
	return print(watching, &other, NULL, 0);
}

int watching_take(struct watching *watching, const struct record *record)
{
	int ret;

	long_step_begin("explaining an alert");
	ret = take(watching, record);
	long_step_end();
	return ret;
}
