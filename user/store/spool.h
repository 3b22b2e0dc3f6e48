/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bounded store of alerts in a file, which outlives whoever writes it.
 *
 * Each alert is a transaction of its own, together with the number of the module's record that
 * is wanted next: whoever is killed goes on where it was, and has no alert twice.  It is SQLite
 * with a write-ahead log, so that others can read meanwhile; a crash of the machine may cost the
 * last alerts.
 *
 * Where it is full, by alerts or by bytes, the oldest go.  What cannot be written, as the disk is
 * full, is counted, and so is all that went.
 */
#ifndef _USER_STORE_SPOOL_H
#define _USER_STORE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#define SPOOL_WHY_MAX 4608

struct spool;

struct spool_bounds {
	uint64_t bytes;
	uint32_t alerts;
};

struct spool_alert {
	uint64_t id; /* rises with each; only of one that is read */
	const char *load; /* of the module, whose record @seq it is */
	uint64_t seq; /* 0: of no record */
	uint64_t time_ns; /* CLOCK_REALTIME */
	uint64_t at_ns; /* CLOCK_MONOTONIC, of the record */
	const char *kind;
	const char *exe; /* NULL: not known, like the next one */
	const char *build_id;
	const char *json;
	const char *key; /* that the JSON has; only of one that is read by a cursor; NULL: none */
	const char *text; /* "": it was folded into others */
	bool is_silenced;
	const void *messages; /* link_record_decode(); may be NULL */
	uint32_t messages_size;
};

/* Since the spool was made. */
struct spool_counts {
	uint64_t alerts; /* in it now */
	uint64_t bytes; /* that it takes */
	uint64_t added;
	uint64_t dropped; /* old ones that made room */
	uint64_t unsaved; /* that could not be written */
};

/*
 * Open the spool at @path, for its writer if @bounds are not NULL, who makes it if it is not there.
 * A file that is no spool, or is damaged, is refused with -EBADMSG.  Returns 0 or a negative errno
 * with the reason in @why; *@ret is NULL then.
 */
int spool_open(const char *path, const struct spool_bounds *bounds, struct spool **ret,
	       char why[SPOOL_WHY_MAX]);
void spool_close(struct spool *spool);

/*
 * The record that is wanted next of this @load of the module: behind the last one that was added;
 * 1 if none was.
 */
uint64_t spool_next(struct spool *spool, const char *load);

/*
 * Add an alert; one whose record is there already is left as it is.  Returns 0 or a negative errno
 * with the reason in @why: it was counted as unsaved.
 */
int spool_add(struct spool *spool, const struct spool_alert *alert, char why[SPOOL_WHY_MAX]);

void spool_count(const struct spool *spool, struct spool_counts *ret);

/* How far a forwarder is (spool-cursor.h); counts are since its name was first used. */
struct spool_forward {
	const char *name;
	const char *state; /* what it does; "": it has not run yet */
	uint64_t passed; /* alerts that were passed on and acknowledged */
	uint64_t refused; /* by who gets them, for good */
	uint64_t left_out; /* not meant for it */
	uint64_t lost; /* dropped before they were passed on */
	uint64_t waiting; /* at most so many wait in the spool */
	uint64_t retries;
	uint64_t passed_ns; /* CLOCK_REALTIME: of the alert that was passed on last */
	uint64_t changed_ns; /* likewise: when this was written */
};

/* Call @fn for each forwarder there was, by name. */
void spool_forwards(const struct spool *spool,
		    void (*fn)(const struct spool_forward *forward, void *arg), void *arg);

extern const char spool_forwards_schema[];

/* Return: 0, or what ends the reading. */
typedef int (*spool_fn)(const struct spool_alert *alert, void *arg);

/*
 * The alerts since @since_ns, the oldest first; only those of the @last ones, unless it is 0.  @fn
 * may take its time: no transaction waits for it.  Returns 0, what @fn returns, or a negative errno with the reason in @why.
 */
int spool_read(struct spool *spool, uint64_t since_ns, uint32_t last, spool_fn fn, void *arg,
	       char why[SPOOL_WHY_MAX]);

#endif /* _USER_STORE_SPOOL_H */
