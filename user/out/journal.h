/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages for the journal of systemd, with fields, by its own protocol.
 */
#ifndef _USER_OUT_JOURNAL_H
#define _USER_OUT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* As those of syslog. */
enum journal_priority {
	JOURNAL_ERROR = 3,
	JOURNAL_WARNING = 4,
	JOURNAL_NOTICE = 5,
	JOURNAL_INFO = 6,
};

enum { JOURNAL_MAX_FIELDS = 24 };

/* A message that is being made; what it points to is its own. */
struct journal_entry {
	struct iovec fields[JOURNAL_MAX_FIELDS];
	int nr;
	bool has_failed; /* out of memory, or too many */
};

/* False where there is no journal: then journal_send() fails. */
bool journal_is_there(void);

void journal_begin(struct journal_entry *entry, enum journal_priority priority, const char *id,
		   const char *message);
/* NULL is left out. */
void journal_text(struct journal_entry *entry, const char *name, const char *value);
void journal_u64(struct journal_entry *entry, const char *name, uint64_t value);

/* Send it and free what it has.  Returns 0 or a negative errno. */
int journal_send(struct journal_entry *entry);

#endif /* _USER_OUT_JOURNAL_H */
