/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The training stream, which the module writes while its device is open.
 *
 * There is one stream, and one reader of it.  It contains the hits of added sites
 * (link_sites_add()) and the wait calls of targets with the record flag.  A
 * reader that is too slow loses events, whose number is in the stream
 * (PERFGUARD_EVENT_KIND_LOST).
 */
#ifndef _USER_LINK_STREAM_READER_H
#define _USER_LINK_STREAM_READER_H

#include <stdint.h>

#include <linux/perfguard.h>

struct stream;

/*
 * Open the stream.  -EBUSY: another program has it; -ENOENT: no module, or an
 * old one; -EPERM or -EACCES: not permitted; -ENOMEM: no memory for its
 * buffers.  *@ret is to be closed on failure, too, and holds the error's text
 * until then.
 */
int stream_open(struct stream **ret);
void stream_close(struct stream *stream);
/* A sentence for the operator about the last error. */
const char *stream_error(const struct stream *stream);

/* Readable within about 50 ms when there are events. */
int stream_fd(const struct stream *stream);

/*
 * Read up to @max events; does not wait.  Returns how many were read, 0 if
 * there are none now, or a negative errno.  Events of one CPU come in order;
 * those of one thread have rising times, but when a thread moved to another
 * CPU its later events may come first.
 */
int stream_read(struct stream *stream, struct perfguard_event *events,
		uint32_t max);

#endif /* _USER_LINK_STREAM_READER_H */
