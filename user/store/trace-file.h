/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace in a file, for learning later or on another machine.
 *
 * The layout is a header, then sections in a fixed order, each a count and as
 * many records; integers are little endian, strings have a length before them.
 * A digest of all before is at the end, so that a truncated or changed file is
 * detected.
 */
#ifndef _USER_STORE_TRACE_FILE_H
#define _USER_STORE_TRACE_FILE_H

#include "data/trace.h"
#include "store/file.h"

#define TRACE_FILE_WHY_MAX FILE_WHY_MAX

/*
 * On success the trace is the caller's to deinit.  Else it is empty, and @why
 * has a sentence without a full stop.  Returns 0, an error of open() or read(),
 * -EINVAL (no regular file), -EBADMSG (no trace, a damaged one, an index that
 * leads nowhere or a table out of order), -EPROTONOSUPPORT (of a newer version),
 * -ESTALE (times of version 1, which measured other units)
 * or -ENOMEM.
 */
int trace_file_load(const char *path, struct trace *trace, char why[TRACE_FILE_WHY_MAX]);

/*
 * As file_replace().
 */
int trace_file_save(const char *path, const struct trace *trace, char why[TRACE_FILE_WHY_MAX]);

#endif /* _USER_STORE_TRACE_FILE_H */
