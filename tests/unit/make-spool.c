// SPDX-License-Identifier: GPL-2.0
/*
 * Fill spools with made alerts, for the tests of what passes them on.
 *
 * usage: make-spool DIR MACHINES ALERTS SECONDS [BOUND [BYTES]]
 *
 * Adds so many alerts to each of DIR/0/spool, DIR/1/spool, ..., round robin and evenly over the
 * time, behind those that are there.  A spool keeps BOUND of them; the JSON of each has BYTES, or as
 * many as is usual.  Each tenth is of no record of the module.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "base/time.h"
#include "data/alert-key.h"
#include "store/spool.h"

struct machine {
	struct spool *spool;
	char load[64];
	uint64_t next; /* record */
};

static struct spool_bounds bounds = { .bytes = UINT64_C(1) << 30, .alerts = 1000000 };
static size_t json_bytes = 1500;

static void fail(const char *why)
{
	fprintf(stderr, "make-spool: %s\n", why);
	exit(1);
}

static void open_machine(struct machine *machine, const char *dir, int number)
{
	char path[4096], why[SPOOL_WHY_MAX];

	snprintf(path, sizeof(path), "%s/%d", dir, number);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/spool", dir, number);
	if (spool_open(path, &bounds, &machine->spool, why))
		fail(why);
	snprintf(machine->load, sizeof(machine->load), "00000000-0000-4000-8000-%012d/7", number);
	machine->next = spool_next(machine->spool, machine->load);
}

static void add(struct machine *machine, int number, uint64_t at)
{
	static const char *const kinds[] = { "late", "ended", "request", "novel" };
	struct spool_alert alert = {
		.load = machine->load, .seq = machine->next, .time_ns = time_wall_ns(),
		.at_ns = time_now_ns(), .kind = kinds[at % 4], .exe = "/usr/sbin/made",
		.build_id = "0123456789abcdef", .text = at % 5 ? "made: 12 ms, 3 times its limit" : "",
		.is_silenced = at % 7 == 6,
	};
	char json[70000], key[ALERT_KEY_MAX], why[SPOOL_WHY_MAX];
	int len;

	if (at % 10 == 9)
		alert.seq = 0;
	else
		machine->next++;
	alert_key(alert.load, alert.kind, alert.seq, alert.time_ns, key);
	len = snprintf(json, sizeof(json),
			   "{\"kind\":\"%s\",\"key\":\"%s\",\"machine\":%d,\"number\":%" PRIu64 ",\"pid\":%d,"
			   "\"elapsed_ns\":12345678,\"share\":0.25,\"is_made\":true,\"other\":null,"
			   "\"stack\":[\"a\",{\"offset\":%" PRIu64 "}],\"pad\":\"",
			   alert.kind, key, number, at, 1000 + number, at % 9 == 3 ? UINT64_MAX : at);

	while ((size_t)len < json_bytes && len < (int)sizeof(json) - 8)
		json[len++] = 'x';
	strcpy(json + len, "\"}");
	alert.json = json;
	if (spool_add(machine->spool, &alert, why))
		fail(why);
}

int main(int argc, char **argv)
{
	int nr = argc > 4 ? atoi(argv[2]) : 0;
	uint64_t nr_alerts = argc > 4 ? (uint64_t)atoll(argv[3]) : 0, begin_ns = time_now_ns();
	struct machine *machines = calloc((size_t)nr + 1, sizeof(*machines));
	struct spool_counts counts;

	if (argc < 5 || argc > 7 || nr < 1 || !machines)
		fail("usage: make-spool DIR MACHINES ALERTS SECONDS [BOUND [BYTES]]");
	if (argc > 5)
		bounds.alerts = (uint32_t)atoi(argv[5]);
	if (argc > 6)
		json_bytes = (size_t)atoll(argv[6]);
	for (int i = 0; i < nr; i++)
		open_machine(&machines[i], argv[1], i);
	spool_count(machines[0].spool, &counts);
	for (uint64_t at = 0; at < nr_alerts; at++) {
		for (int i = 0; i < nr; i++)
			add(&machines[i], i, counts.added + at);
		time_sleep_until(begin_ns + (uint64_t)(strtod(argv[4], NULL) * 1e9 *
						       (double)(at + 1) / (double)nr_alerts));
	}
	for (int i = 0; i < nr; i++)
		spool_close(machines[i].spool);
	free(machines);
	return 0;
}
