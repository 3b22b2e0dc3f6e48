/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Late units and requests in a format that other programs read.  Lines of JSON come in, as
 * watch, audit and the service have written them; they may be anybody's.
 */
#ifndef _USER_OUT_EXPORT_EXPORTER_H
#define _USER_OUT_EXPORT_EXPORTER_H

#include <stddef.h>
#include <stdint.h>

enum export_format {
	EXPORT_FOLDED, /* a line a stack, for flame graphs */
	EXPORT_PPROF, /* profile.proto, compressed */
	EXPORT_PERFETTO, /* Trace Event Format: JSON */
};

struct export;

/* NULL without memory. */
struct export *export_new(void);
void export_free(struct export *export);

/* Take a line, without its newline.  Returns 0 or -ENOMEM. */
int export_add_line(struct export *export, const char *line, size_t len);

/* How many lines there were, and how many of them were no JSON objects with a kind. */
uint64_t export_nr_lines(const struct export *export);
uint64_t export_nr_broken(const struct export *export);
/* Incidents so far, and of how many nothing could be kept. */
uint64_t export_nr_incidents(const struct export *export);
uint64_t export_nr_left_out(const struct export *export);

/* The file, of *@ret_len bytes, to be freed.  Returns 0 or -ENOMEM. */
int export_render(const struct export *export, enum export_format format, char **ret,
		  size_t *ret_len);

#endif /* _USER_OUT_EXPORT_EXPORTER_H */
