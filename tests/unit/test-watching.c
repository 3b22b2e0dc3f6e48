// SPDX-License-Identifier: GPL-2.0
/* From records to lines: folded, covered by a regression, each unit counted once. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/duration.h"
#include "app/watch/watching.h"
#include "link/link.h"
#include "tap.h"

#define MS NSEC_PER_MSEC

/* The module: one profile, whose file is not there, with one type. */
static struct armed_type sums = {
	.id = 7, .own_limit_ns = 8 * MS, .units = 1000, .elapsed_ns = 3000 * MS,
	.cpu_ns = 2900 * MS,
};

/* The path of the one target; NULL: there is none. */
static const char *target_path;

/* Of a module that the functions here stand for. */
#define LINK ((struct link *)&target_path)

int link_profiles(struct link *link, struct armed_profile **ret, uint32_t *ret_nr)
{
	(void)link;
	*ret = calloc(1, sizeof(**ret));
	(*ret)->id = 3;
	(*ret)->target_id = 1;
	(*ret)->name = strdup("/nowhere/profile");
	*ret_nr = 1;
	return 0;
}

void link_profiles_free(struct armed_profile *profiles, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(profiles[i].name);
	free(profiles);
}

int link_types(struct link *link, uint32_t profile_id, struct armed_type **ret, uint32_t *ret_nr)
{
	(void)link;
	(void)profile_id;
	*ret = malloc(sizeof(**ret));
	**ret = sums;
	*ret_nr = 1;
	return 0;
}

int link_targets(struct link *link, struct target **ret, uint32_t *ret_nr)
{
	(void)link;
	*ret_nr = target_path != NULL;
	*ret = calloc(1, sizeof(**ret));
	(*ret)->id = 1;
	if (target_path)
		(*ret)->path = strdup(target_path);
	return 0;
}

void link_targets_free(struct target *targets, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		free(targets[i].path);
	free(targets);
}

int link_processes(struct link *link, uint32_t target_id, struct process **ret, uint32_t *ret_nr)
{
	(void)link;
	(void)target_id;
	*ret = NULL;
	*ret_nr = 0;
	return 0;
}

static char *text;
static size_t text_size;
static FILE *out;

/* What is printed from here on is kept. */
static void listen(void)
{
	free(text);
	text = NULL;
	out = stdout;
	stdout = open_memstream(&text, &text_size);
}

/* Returns it. */
static const char *heard(void)
{
	fclose(stdout);
	stdout = out;
	return text;
}

static unsigned int count(const char *lines, const char *what)
{
	unsigned int nr = 0;

	for (const char *at = lines; (at = strstr(at, what)); at++)
		nr++;
	return nr;
}

static uint64_t next_seq = 1;

static int take(struct watching *watching, uint64_t unit, uint64_t elapsed_ns, bool has_ended)
{
	struct perfguard_met met = { .guard = 0, .depth = 80, .hits = 1, .in_profile = 1 };
	struct record record = {
		.nr_met = 1,
		.met = &met,
		.seq = next_seq++,
		.kind = has_ended ? PERFGUARD_RECORD_KIND_ENDED : PERFGUARD_RECORD_KIND_LATE,
		.time_ns = time_wall_ns(),
		.target_id = 1,
		.image_id = 1,
		.loop_id = 1,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.comm = "server",
		.unit = unit,
		.threshold_ns = 8 * MS,
		.account = { .elapsed_ns = elapsed_ns, .cpu_ns = elapsed_ns },
		.profile_id = 3,
		.type_id = 7,
		.margin = 40,
	};

	return watching_take(watching, &record);
}

/* As if what it knows were a second older. */
static void pass_second(struct watching *watching)
{
	struct profile_cache *cache = &watching->cache;

	watching->looked_ns = 0;
	watching->starvation.read_ns -= NSEC_PER_SEC;
	for (uint32_t i = 0; i < cache->nr; i++)
		for (uint32_t j = 0; j < cache->profiles[i].nr_types; j++)
			cache->profiles[i].types[j].regression.begin_ns -= NSEC_PER_SEC;
}

/* A second later: so many units more ended, and their sums are read. */
static int look(struct watching *watching, uint64_t in_time, uint64_t late)
{
	sums.units += in_time;
	sums.elapsed_ns += in_time * 3 * MS;
	sums.cpu_ns += in_time * 3 * MS;
	sums.late += late;
	sums.late_elapsed_ns += late * 12 * MS;
	sums.late_cpu_ns += late * 12 * MS;
	pass_second(watching);
	return watching_tick(watching);
}

static void test_fold(void)
{
	struct watching watching;
	const char *lines;

	ok(!watching_init(&watching, LINK, 60 * NSEC_PER_SEC, true), "made");
	listen();
	for (uint64_t unit = 1; unit <= 4; unit++) {
		take(&watching, unit, 9 * MS, false);
		take(&watching, unit, 18 * MS, false);
		take(&watching, unit, (19 + unit) * MS, true);
	}
	lines = heard();
	ok(count(lines, "\"kind\":\"late\"") == 2 && count(lines, "\"kind\":\"ended\"") == 1,
	   "the first of equal units is printed with all its records");
	ok(count(lines, "\"type\":7") == 3 && count(lines, "\"confidence\":0.999") == 3 &&
		   count(lines, "computed 9.00 ms, where this type computes 2.90 ms") == 1,
	   "with its type, and what is usual for it");
	ok(watching.nr_late == 4, "each unit counts once");
	listen();
	watching_finish(&watching);
	lines = heard();
	ok(count(lines, "\"kind\":\"repeated\"") == 1 && count(lines, "\"count\":3") == 1 &&
		   count(lines, "\"ended\":3") == 1 && count(lines, "\"min\":21000000") == 1 &&
		   count(lines, "\"max\":23000000") == 1,
	   "the others by their number");
	watching_deinit(&watching);

	watching_init(&watching, LINK, 0, true);
	listen();
	for (uint64_t unit = 1; unit <= 4; unit++) {
		take(&watching, unit, 9 * MS, false);
		take(&watching, unit, 20 * MS, true);
	}
	watching_finish(&watching);
	lines = heard();
	ok(count(lines, "\"kind\":\"late\"") == 4 && count(lines, "\"kind\":\"ended\"") == 4 &&
		   !count(lines, "repeated"),
	   "without a window all are printed");
	watching_deinit(&watching);
}

static void test_level(void)
{
	struct watching watching;
	const char *lines;

	watching_init(&watching, LINK, 60 * NSEC_PER_SEC, true);
	listen();
	for (int i = 0; i <= 40; i++)
		look(&watching, 100, 0);
	look(&watching, 0, 30);
	look(&watching, 0, 30);
	lines = heard();
	ok(!*lines, "two batches of late units are nothing yet");
	listen();
	look(&watching, 5, 25);
	lines = heard();
	ok(count(lines, "\"kind\":\"level\"") == 1 && count(lines, "\"slow\":true") == 1 &&
		   count(lines, "\"part\":\"cpu\"") == 1 &&
		   count(lines, "\"late\":85") == 1,
	   "a change of level");
	listen();
	for (uint64_t unit = 1; unit <= 20; unit++) {
		take(&watching, unit, 9 * MS, false);
		take(&watching, unit, 13 * MS, true);
	}
	watching_finish(&watching);
	lines = heard();
	ok(!*lines && watching.nr_late == 20, "its late units are not printed, but counted");
	listen();
	take(&watching, 30, 9 * MS, false);
	take(&watching, 30, 10 * NSEC_PER_SEC, false);
	lines = heard();
	ok(count(lines, "\"kind\":\"late\"") == 1, "one that is far beyond is");
	listen();
	look(&watching, 100, 0);
	look(&watching, 100, 0);
	look(&watching, 100, 0);
	lines = heard();
	ok(count(lines, "\"kind\":\"level\"") == 1 && count(lines, "\"slow\":false") == 1,
	   "and that the level is back");
	listen();
	take(&watching, 31, 9 * MS, false);
	watching_finish(&watching);
	lines = heard();
	ok(count(lines, "\"kind\":\"repeated\"") == 1,
	   "from then on late units are printed again, here folded into that one");
	watching_deinit(&watching);
}

/* A second later: so many units ended in time, and so many of them were starved. */
static int starve(struct watching *watching, uint64_t units, uint64_t starved)
{
	sums.starved += starved;
	return look(watching, units, 0);
}

static void test_starvation(void)
{
	static const struct cpu_user before[] = { { 4, "four", 500 }, { 9, "nine", 100 } };
	static const struct cpu_user after[] = {
		{ 4, "four", 530 }, { 9, "nine", 150 }, { 12, "twelve", 99 }, { 13, "few", 2 },
	};
	struct cpu_users first = { (struct cpu_user *)before, 2, NSEC_PER_SEC };
	struct cpu_users second = { (struct cpu_user *)after, 4, 2 * NSEC_PER_SEC };
	struct alert_cpu_user most[2];
	struct watching watching;
	const char *lines;

	watching_init(&watching, LINK, 60 * NSEC_PER_SEC, true);
	listen();
	starve(&watching, 100, 0);
	starve(&watching, 100, 9);
	starve(&watching, 2000, 19);
	starve(&watching, 100, 9);
	ok(!*heard(), "few starved units are nothing");
	listen();
	starve(&watching, 500, 200);
	starve(&watching, 500, 200);
	lines = heard();
	ok(count(lines, "\"kind\":\"starved\"") == 1 && count(lines, "\"starved\":true") == 1 &&
	   count(lines, "\"units\":1000,\"starved_units\":400") == 1 &&
	   count(lines, "\"cpu\":[") == 1, "many are, with who has the CPUs");
	ok(!watching.users.nr && watching_wait_ns(&watching) <= NSEC_PER_SEC,
	   "it is looked at each second while it lasts");
	listen();
	starve(&watching, 500, 200);
	starve(&watching, 500, 0);
	ok(!*heard(), "and reported once");
	watching.starvation.seen_ns -= 11 * NSEC_PER_SEC;
	listen();
	starve(&watching, 500, 0);
	lines = heard();
	ok(count(lines, "\"starved\":false") == 1 &&
	   count(lines, "\"units\":2500,\"starved_units\":600") == 1,
	   "ten seconds later it is over");
	watching_deinit(&watching);
	ok(cpu_users_most(&first, &second, most, 2) == 2 && most[0].pid == 12 &&
	   most[1].pid == 9 && most[1].share > 0.49 && most[1].share < 0.51,
	   "who used most of the CPUs comes first, and who came just now counts");
}

/* Some seconds later. */
static const char *tick(struct watching *watching)
{
	watching->refreshed_ns = 0;
	listen();
	watching_tick(watching);
	return heard();
}

static void test_replaced(void)
{
	struct watching watching;
	const char *lines;

	watching_init(&watching, LINK, 60 * NSEC_PER_SEC, true);
	target_path = "/bin/sh";
	ok(!*tick(&watching), "nothing is said of a file that is there");
	target_path = "/nowhere/program (deleted)";
	ok(!*tick(&watching), "nor of one in whose place nothing has come");
	target_path = "/bin/sh (deleted)";
	lines = tick(&watching);
	ok(count(lines, "\"kind\":\"replaced\"") == 1 && count(lines, "\"exe\":\"/bin/sh\"") == 1 &&
	   count(lines, "'pg-collect arm /nowhere/profile'") == 1, "one that was replaced is reported");
	ok(!*tick(&watching), "once");
	watching_deinit(&watching);
	watching_init(&watching, LINK, 60 * NSEC_PER_SEC, false);
	ok(count(tick(&watching), "REPLACED /bin/sh was replaced since it was armed") == 1,
	   "to people, too");
	watching_deinit(&watching);
	target_path = NULL;
}

int main(void)
{
	plan(23);
	test_fold();
	test_level();
	test_starvation();
	test_replaced();
	free(text);
	return tap_status();
}
