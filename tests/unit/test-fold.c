// SPDX-License-Identifier: GPL-2.0
/* Equal alerts become one and a count, and no unit is lost in it. */

#include <string.h>

#include "base/duration.h"
#include "out/alert/fold.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC

static const struct fold_key slow = { 1, 7, 100 };

static uint64_t add(struct fold *fold, const struct fold_key *key, uint64_t now_ns,
		    uint64_t elapsed_ns, bool has_ended)
{
	struct fold_subject subject = {
		.seq = now_ns,
		.exe = strdup("/usr/bin/server"),
		.function = strdup("work"),
	};
	uint64_t id = fold_add(fold, key, &subject, now_ns, elapsed_ns, has_ended);

	fold_subject_clear(&subject);
	return id;
}

static void test_count(void)
{
	struct fold_window window;
	uint64_t last = 0;
	struct fold fold;

	fold_init(&fold, 10 * S);
	ok(fold_due(&fold) == UINT64_MAX, "nothing is due");
	ok(!add(&fold, &slow, 1 * S, 50 * MS, false), "the first one is printed");
	ok(fold_due(&fold) == 11 * S, "its window is due");
	for (int i = 0; i < 37; i++)
		last = add(&fold, &slow, 2 * S, 50 * MS, false);
	ok(last != 0, "those that follow are folded");
	for (uint64_t i = 0; i < 36; i++)
		fold_go_on(&fold, last, (60 + i) * MS, true);
	ok(fold_go_on(&fold, last, 9 * S, false), "and their ends, too");
	ok(!fold_next(&fold, 11 * S - 1, &window), "nothing is printed before the window ends");
	ok(fold_next(&fold, 11 * S, &window) && window.nr_units == 37 && window.nr_ended == 36 &&
		   window.min_ns == 60 * MS && window.max_ns == 95 * MS &&
		   window.running_ns == 9 * S,
	   "then how many, how long they took, and how long one has run by now");
	ok(window.subject.seq == 1 * S && !strcmp(window.subject.function, "work"),
	   "of the alert that was printed");
	ok(!fold_next(&fold, 11 * S, &window), "once");

	ok(!fold_go_on(&fold, last, 10 * S, false),
	   "one that is still reported after the window is returned again");
	ok(add(&fold, &slow, 12 * S, 10 * S, false) != 0, "what goes on is folded further");
	ok(fold_next(&fold, 21 * S, &window) && window.nr_units == 1, "and printed again");
	ok(!fold_next(&fold, 31 * S, &window) && fold_due(&fold) == UINT64_MAX,
	   "a window without any ends it");
	ok(!add(&fold, &slow, 32 * S, 50 * MS, true), "and the next one is printed");
	ok(!add(&fold, &slow, 50 * S, 50 * MS, true),
	   "as is one after a window that nobody looked at");
	fold_deinit(&fold);
}

static void test_keys(void)
{
	const struct fold_key others[] = { { 2, 7, 100 }, { 1, 8, 100 }, { 1, 7, 101 } };
	struct fold_window window;
	unsigned int printed = 0;
	struct fold fold;

	fold_init(&fold, 10 * S);
	add(&fold, &slow, S, MS, true);
	for (int i = 0; i < 3; i++)
		printed += !add(&fold, &others[i], S, MS, true);
	ok(printed == 3, "another target, type or path is another alert");
	add(&fold, &others[1], 2 * S, MS, true);
	add(&fold, &slow, 3 * S, MS, false);
	ok(fold_next(&fold, UINT64_MAX, &window) && window.key.type == 7 &&
		   fold_next(&fold, UINT64_MAX, &window) && window.key.type == 8 &&
		   !fold_next(&fold, UINT64_MAX, &window),
	   "at the end each that has some is printed");
	fold_deinit(&fold);

	fold_init(&fold, 0);
	printed = 0;
	for (int i = 0; i < 10; i++)
		printed += !add(&fold, &slow, S, MS, true);
	ok(printed == 10 && !fold_next(&fold, UINT64_MAX, &window), "without a window, all");
	fold_deinit(&fold);

	fold_init(&fold, 10 * S);
	printed = 0;
	for (uint32_t i = 0; i < 2 * FOLD_MAX_WINDOWS; i++)
		for (int twice = 0; twice < 2; twice++)
			printed += !add(&fold, &(struct fold_key){ 1, i, 0 }, S, MS, true);
	ok(printed == 3 * FOLD_MAX_WINDOWS, "where there are very many, they are printed singly");
	fold_deinit(&fold);
}

static void test_paths(void)
{
	struct fold_window window;
	unsigned int printed = 0;
	struct fold fold;

	fold_init(&fold, 10 * S);
	for (uint64_t i = 0; i < 100; i++)
		printed += !add(&fold, &(struct fold_key){ 1, 7, i }, S, 50 * MS, true);
	ok(printed == FOLD_MAX_PATHS, "of many paths of a type the first few are printed");
	ok(!add(&fold, &(struct fold_key){ 1, 8, 200 }, S, 50 * MS, true), "not of all types");
	ok(fold_next(&fold, UINT64_MAX, &window) && window.nr_units == 95 &&
		   window.nr_ended == 95 && window.subject.is_various &&
		   !fold_next(&fold, UINT64_MAX - 1, &window),
	   "and the others in common");
	fold_deinit(&fold);
}

int main(void)
{
	plan(22);
	test_count();
	test_keys();
	test_paths();
	return tap_status();
}
