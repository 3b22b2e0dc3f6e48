/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace in a file, so that it can be learnt from elsewhere and later.
 *
 * The layout is a header, then sections in a fixed order, each a count and as
 * many records; integers are little endian, strings have a length before them.
 * At the end stands a digest of all that is before, so a truncated or changed
 * file is told from a whole one.
 */
#ifndef _USER_STORE_TRACE_FILE_H
#define _USER_STORE_TRACE_FILE_H

#include "data/trace.h"

#define TRACE_FILE_WHY_MAX 4608

/*
 * On success the trace is the caller's to deinit.  Else it is empty, and @why
 * has a sentence without a full stop.  Returns 0, an error of open() or read(),
 * -EINVAL (no regular file), -EBADMSG (no trace, a damaged one, an index that
 * leads nowhere or a table out of order), -EPROTONOSUPPORT (of a newer version),
 * -ESTALE (times of version 1, which were not those of units as they are judged)
 * or -ENOMEM.
 */
int trace_file_load(const char *path, struct trace *trace, char why[TRACE_FILE_WHY_MAX]);

/*
 * The file is written beside @path and renamed when it is complete.  Returns 0
 * or an error of the file system, with @why.
 */
int trace_file_save(const char *path, const struct trace *trace, char why[TRACE_FILE_WHY_MAX]);

#endif /* _USER_STORE_TRACE_FILE_H */
