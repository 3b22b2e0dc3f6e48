// SPDX-License-Identifier: GPL-2.0

#include "out/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#define SOCKET "/run/systemd/journal/socket"

bool journal_is_there(void)
{
	return !access(SOCKET, W_OK);
}

void journal_text(struct journal_entry *entry, const char *name, const char *value)
{
	char *field;
	int len;

	if (!value)
		return;
	len = entry->nr < JOURNAL_MAX_FIELDS ? asprintf(&field, "%s=%s", name, value) : -1;
	if (len < 0) {
		entry->has_failed = true;
		return;
	}
	entry->fields[entry->nr++] = (struct iovec){ field, (size_t)len };
}

void journal_u64(struct journal_entry *entry, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	journal_text(entry, name, text);
}

void journal_begin(struct journal_entry *entry, enum journal_priority priority, const char *id,
		   const char *message)
{
	*entry = (struct journal_entry){ .nr = 0 };
	journal_text(entry, "MESSAGE", message);
	journal_u64(entry, "PRIORITY", priority);
	journal_text(entry, "MESSAGE_ID", id);
	journal_text(entry, "SYSLOG_IDENTIFIER", "perfguard");
}

int journal_send(struct journal_entry *entry)
{
	int error = entry->has_failed ? -ENOMEM : 0;

	/* Without a journal it says that all is well. */
	if (!error && !journal_is_there())
		error = -ENOENT;
	if (!error)
		error = sd_journal_sendv(entry->fields, entry->nr);
	for (int i = 0; i < entry->nr; i++)
		free(entry->fields[i].iov_base);
	entry->nr = 0;
	return error;
}
