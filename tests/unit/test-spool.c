// SPDX-License-Identifier: GPL-2.0
/* Alerts in a spool: bounded, counted, kept over restarts and over full disks. */

#include "store/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define ALL ((struct spool_bounds){ .bytes = 1 << 30, .alerts = 1 << 20 })

static char path[] = "/tmp/test-spool-XXXXXX";
static char why[SPOOL_WHY_MAX];

static struct spool *open_spool(struct spool_bounds bounds)
{
	struct spool *spool;

	if (spool_open(path, &bounds, &spool, why))
		printf("# %s\n", why);
	return spool;
}

static void clear(void)
{
	char other[64];

	unlink(path);
	for (int i = 0; i < 2; i++) {
		snprintf(other, sizeof(other), "%s%s", path, i ? "-wal" : "-shm");
		unlink(other);
	}
}

static int add(struct spool *spool, const char *load, uint64_t seq, size_t size)
{
	char *messages = calloc(1, size + 1), json[64];
	const struct spool_alert alert = {
		.load = load, .seq = seq, .time_ns = 1000 * seq, .kind = "late", .json = json,
		.text = seq % 2 ? "text" : "", .messages = messages,
		.messages_size = (uint32_t)size,
	};
	int ret;

	snprintf(json, sizeof(json), "{\"seq\":%" PRIu64 "}\n", seq);
	ret = spool_add(spool, &alert, why);
	free(messages);
	return ret;
}

struct seen {
	uint32_t nr;
	uint64_t first, last;
	bool is_in_order;
	uint64_t bytes;
};

static int see(const struct spool_alert *alert, void *arg)
{
	struct seen *seen = arg;

	if (!seen->nr++)
		*seen = (struct seen){ .nr = 1, .first = alert->seq, .is_in_order = true };
	seen->is_in_order &= alert->seq >= seen->last;
	seen->last = alert->seq;
	seen->bytes += alert->messages_size;
	return 0;
}

static struct seen read_all(struct spool *spool, uint64_t since_ns, uint32_t last)
{
	struct seen seen = { 0 };

	if (spool_read(spool, since_ns, last, see, &seen, why))
		printf("# %s\n", why);
	return seen;
}

static void kept(void)
{
	struct spool *spool = open_spool(ALL);
	struct spool_counts counts;
	struct seen seen;
	struct stat st;

	ok(spool && spool_next(spool, "a") == 1, "a new one wants the first record");
	for (uint64_t seq = 1; seq <= 10; seq++)
		add(spool, "a", seq, 100);
	add(spool, "a", 4, 100);
	add(spool, "a", 0, 0);
	ok(spool_next(spool, "a") == 11 && spool_next(spool, "b") == 1,
	   "then the next one, of another load the first");
	spool_close(spool);
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0600, "only its owner can read it");
	spool = open_spool(ALL);
	spool_count(spool, &counts);
	ok(counts.alerts == 11 && counts.added == 11 && !counts.dropped && !counts.unsaved,
	   "all are there when it is opened again, and none twice");
	seen = read_all(spool, 0, 0);
	ok(seen.nr == 11 && seen.first == 1 && seen.last == 0 && seen.bytes == 1000,
	   "in the order in which they came");
	seen = read_all(spool, 8000, 0);
	ok(seen.nr == 3 && seen.first == 8, "since a moment");
	seen = read_all(spool, 0, 4);
	ok(seen.nr == 4 && seen.first == 8, "the last ones");
	add(spool, "b", 1, 10);
	ok(spool_next(spool, "b") == 2 && spool_next(spool, "a") == 11,
	   "a number of another load is another record");
	spool_close(spool);
	clear();
}

static void bounded(void)
{
	struct spool *spool = open_spool((struct spool_bounds){ .bytes = 1 << 30, .alerts = 100 });
	struct spool_counts counts;
	struct seen seen;
	struct stat st;

	for (uint64_t seq = 1; seq <= 1000; seq++)
		add(spool, "a", seq, 10);
	spool_count(spool, &counts);
	seen = read_all(spool, 0, 0);
	ok(counts.alerts <= 100 && counts.alerts >= 95 && counts.alerts + counts.dropped == 1000,
	   "by their number: the oldest go, and are counted");
	ok(seen.nr == counts.alerts && seen.last == 1000 && seen.is_in_order &&
		   seen.first == 1000 - seen.nr + 1, "the newest stay");
	spool_close(spool);
	clear();

	spool = open_spool((struct spool_bounds){ .bytes = 4 << 20, .alerts = 1 << 20 });
	for (uint64_t seq = 1; seq <= 300; seq++)
		add(spool, "a", seq, 50000);
	spool_count(spool, &counts);
	ok(counts.bytes <= 4 << 20 && counts.bytes > 3 << 20 && counts.alerts + counts.dropped == 300,
	   "by bytes, as well");
	spool_close(spool);
	ok(!stat(path, &st) && st.st_size <= (4 << 20) + (64 << 10), "the file has no more either");
	printf("# %" PRIu64 " alerts, %lld bytes\n", counts.alerts, (long long)st.st_size);
	clear();
}

/* No file may become larger meanwhile. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void full(void)
{
	struct spool *spool = open_spool(ALL);
	struct spool_counts counts;
	uint64_t bad = 0;

	signal(SIGXFSZ, SIG_IGN);
	add(spool, "a", 1, 1000);
	limit_files(256 << 10);
	for (uint64_t seq = 2; seq <= 20; seq++)
		bad += add(spool, "a", seq, 50000) != 0;
	spool_count(spool, &counts);
	printf("# %s\n", why);
	ok(bad > 10 && counts.unsaved == bad && counts.alerts == 20 - bad,
	   "what cannot be written is counted");
	limit_files(RLIM_INFINITY);
	ok(!add(spool, "a", 21, 50000), "with room again it goes on");
	spool_close(spool);
	spool = open_spool(ALL);
	spool_count(spool, &counts);
	ok(counts.unsaved == bad && counts.alerts == 21 - bad && spool_next(spool, "a") == 22,
	   "and the count is kept");
	spool_close(spool);
	clear();
}

/* A writer that is killed after its 50th alert, in the middle of the work. */
static void killed(void)
{
	int status, ready[2];
	struct spool *spool;
	struct seen seen;
	pid_t pid;
	char byte;

	if (pipe(ready))
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		spool = open_spool(ALL);
		for (uint64_t seq = 1;; seq++) {
			add(spool, "a", seq, 5000);
			if (seq == 50 && write(ready[1], "r", 1) != 1)
				_exit(1);
		}
	}
	if (read(ready[0], &byte, 1) != 1)
		printf("# no byte\n");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	spool = open_spool(ALL);
	seen = read_all(spool, 0, 0);
	ok(seen.nr >= 50 && seen.first == 1 && seen.last == seen.nr &&
		   spool_next(spool, "a") == seen.last + 1,
	   "of a writer that is killed all is there, and what comes next is known");
	spool_close(spool);
	clear();
}

struct slow_reader {
	struct spool *writer;
	uint64_t seq;
};

/* While one alert is read very many come. */
static int read_slowly(const struct spool_alert *alert, void *arg)
{
	struct slow_reader *reader = arg;

	(void)alert;
	for (int i = 0; i < 500; i++)
		add(reader->writer, "a", ++reader->seq, 50000);
	return reader->seq < 1000 ? 0 : 1;
}

static void slow(void)
{
	struct spool_bounds bounds = { .bytes = 4 << 20, .alerts = 1 << 20 };
	struct slow_reader reader = { .writer = open_spool(bounds) };
	struct spool *spool;
	char log[64];
	struct stat st;

	add(reader.writer, "a", ++reader.seq, 10);
	snprintf(log, sizeof(log), "%s-wal", path);
	ok(!spool_open(path, NULL, &spool, why) &&
		   spool_read(spool, 0, 0, read_slowly, &reader, why) == 1,
	   "a reader that takes its time gets what comes meanwhile");
	ok(!stat(log, &st) && st.st_size <= 8 << 20, "and does not make the log grow: %lld bytes",
	   (long long)st.st_size);
	spool_close(spool);
	spool_close(reader.writer);
	clear();
}

static void foreign(void)
{
	struct spool *spool;
	FILE *file = fopen(path, "w");

	for (int i = 0; i < 4000; i++)
		fputs("no spool", file);
	fclose(file);
	ok(spool_open(path, &ALL, &spool, why) == -EBADMSG && !spool && strstr(why, "is not a spool"),
	   "another file is refused");
	unlink(path);
	ok(spool_open(path, NULL, &spool, why) < 0 && !spool && access(path, F_OK),
	   "a reader makes none");
	ok(spool_open("/nowhere/spool", &ALL, &spool, why) == -ENOENT && strstr(why, "/nowhere/spool"),
	   "nor is a directory made");
	printf("# %s\n", why);
}

int main(void)
{
	plan(21);
	close(mkstemp(path));
	unlink(path);
	kept();
	bounded();
	full();
	killed();
	slow();
	foreign();
	clear();
	return tap_status();
}
