// SPDX-License-Identifier: GPL-2.0
/* Places in a spool: what was passed on, what was lost, and by whom. */

#include "store/spool-cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/alert-key.h"
#include "tap.h"

static char path[] = "/tmp/test-spool-cursor-XXXXXX";
static char why[SPOOL_WHY_MAX];
static struct spool_batch batch;

static struct spool *open_spool(uint32_t most)
{
	const struct spool_bounds bounds = { .bytes = 1 << 30, .alerts = most };
	struct spool *spool;

	if (spool_open(path, &bounds, &spool, why))
		printf("# %s\n", why);
	return spool;
}

static void add(struct spool *spool, uint64_t first, uint64_t nr)
{
	for (uint64_t seq = first; seq < first + nr; seq++) {
		const struct spool_alert alert = {
			.load = "boot/7", .seq = seq, .time_ns = seq, .kind = "late",
			.json = seq % 2 ? "{\"key\":\"boot/7/late/1\"}" : "no JSON", .text = "text", .messages = "m", .messages_size = 1,
		};

		spool_add(spool, &alert, why);
	}
}

struct found {
	const char *name;
	struct spool_forward forward;
	uint32_t nr;
};

static void find(const struct spool_forward *forward, void *arg)
{
	struct found *found = arg;

	found->nr++;
	if (!strcmp(forward->name, found->name))
		found->forward = *forward;
}

static struct spool_forward forward_of(struct spool *spool, const char *name)
{
	struct found found = { .name = name };

	spool_forwards(spool, find, &found);
	return found.forward;
}

static struct spool_cursor *open_cursor(const char *name)
{
	struct spool_cursor *cursor;

	if (spool_cursor_open(path, name, &cursor, why))
		printf("# %s\n", why);
	return cursor;
}

/* Pass on the next @nr, or all that come at once.  Returns how many those were. */
static uint32_t pass(struct spool_cursor *cursor, uint32_t nr)
{
	spool_cursor_read(cursor, &batch, why);
	if (nr > batch.nr)
		nr = batch.nr;
	if (spool_cursor_advance(cursor, &batch, nr, 0, 0, why))
		printf("# %s\n", why);
	spool_batch_clear(&batch);
	return nr;
}

static void passed(void)
{
	struct spool *spool = open_spool(1000);
	struct spool_cursor *cursor, *other;
	struct spool_forward forward;

	add(spool, 1, 300);
	cursor = open_cursor("a");
	ok(spool_cursor_open(path, "a", &other, why) == -EALREADY && !other,
	   "a place is one process's at a time");
	ok(pass(cursor, 10) == 10 && pass(cursor, 1000) == SPOOL_BATCH_ALERTS, "in batches");
	spool_cursor_close(cursor);
	cursor = open_cursor("a");
	spool_cursor_read(cursor, &batch, why);
	ok(batch.nr == 34 && batch.alerts[0].seq == 267 && !strcmp(batch.alerts[0].load, "boot/7") &&
	   !strcmp(batch.alerts[33].json, "no JSON") && !batch.alerts[0].exe,
	   "who comes next goes on where it was");
	ok(!strcmp(batch.alerts[0].key, "boot/7/late/1") && !batch.alerts[33].key,
	   "an alert has the key of its JSON");
	spool_cursor_advance(cursor, &batch, 20, 3, 2, why);
	spool_batch_clear(&batch);
	spool_cursor_say(cursor, "waiting", true);
	forward = forward_of(spool, "a");
	ok(forward.passed == 266 + 15 && forward.refused == 3 && forward.left_out == 2 &&
	   forward.waiting == 14 && forward.retries == 1 && !forward.lost, "and all is counted");
	other = open_cursor("b");
	ok(pass(other, 1) == 1 && forward_of(spool, "b").passed == 1 &&
	   forward_of(spool, "a").passed == 281, "another one is at another place");
	spool_cursor_close(cursor);
	spool_cursor_close(other);
	spool_close(spool);
	unlink(path);
}

static void lost(void)
{
	struct spool *spool = open_spool(100);
	struct spool_cursor *cursor = open_cursor("a");
	struct spool_counts counts;
	struct spool_forward forward;
	uint64_t taken;

	add(spool, 1, 50);
	pass(cursor, 30);
	add(spool, 51, 450);
	spool_count(spool, &counts);
	forward = forward_of(spool, "a");
	ok(counts.dropped > 300 && forward.lost == counts.dropped - 30 && forward.waiting == counts.alerts,
	   "what was dropped before it was passed on is lost");

	/* A batch is on its way while the spool drops it. */
	spool_cursor_read(cursor, &batch, why);
	taken = batch.nr;
	add(spool, 501, 500);
	spool_cursor_advance(cursor, &batch, batch.nr, 0, 0, why);
	spool_batch_clear(&batch);
	while (pass(cursor, 1000))
		;
	spool_count(spool, &counts);
	forward = forward_of(spool, "a");
	ok(taken > 90 && forward.passed == 30 + taken + counts.alerts &&
	   forward.passed + forward.lost == 1000,
	   "but what was on its way then is not, once it is acknowledged");
	spool_cursor_close(cursor);
	spool_close(spool);
	unlink(path);
}

static void keys(void)
{
	char key[ALERT_KEY_MAX], other[ALERT_KEY_MAX];

	alert_key("boot/7", "late", 12, 4, key);
	ok(!strcmp(key, "boot/7/late/12"), "the key is of boot, load, kind and record");
	alert_key("boot/7", "level", 0, 4, key);
	alert_key("boot/7", "starved", 0, 4, other);
	ok(!strcmp(key, "boot/7/level/4") && strcmp(key, other), "or of kind and time, without a record");
}

int main(void)
{
	plan(10);
	close(mkstemp(path));
	unlink(path);
	passed();
	lost();
	keys();
	return tap_status();
}
