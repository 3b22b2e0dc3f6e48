/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A line of JSON for machines.  Whatever it is of, it begins with the same keys: its kind, the
 * version of the schema (Documentation/schema/), when it was, and on which machine.
 */
#ifndef _USER_OUT_LINE_H
#define _USER_OUT_LINE_H

#include <stdint.h>
#include <stdio.h>

#include "out/json.h"

struct machine_identity;

/* Rises when a key goes or changes its meaning, not when one is added. */
enum { LINE_SCHEMA = 1 };

/* Begin the object of a line; @time_ns is of CLOCK_REALTIME, 0 for now. */
void line_begin(struct json *json, const char *kind, uint64_t time_ns);

/* End and write it.  Returns what json_end_line() does. */
int line_end(struct json *json, FILE *file);

/*
 * The key "name" of a function: what it is called, or "server+0xb0c61" by its first byte where
 * the file does not say; @module NULL: @offset is an address in memory.
 */
void line_put_name(struct json *json, const char *module, uint64_t offset, const char *function);

/* Lines are of this machine from here on, which is lent; NULL: of this one. */
void line_set_machine(const struct machine_identity *machine);
const struct machine_identity *line_machine(void);

/* From here on what log.h has goes to stderr as lines of kind "error", "warning" and "progress". */
void line_take_log(void);

#endif /* _USER_OUT_LINE_H */
