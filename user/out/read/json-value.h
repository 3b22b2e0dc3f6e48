/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading JSON that others wrote: what is not there, or of another type, reads
 * as nothing.  Numbers are doubles: addresses of 64 bits lose their last digits.
 */
#ifndef _USER_OUT_READ_JSON_VALUE_H
#define _USER_OUT_READ_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* An object, of the caller to json_decref(); NULL if @text is none. */
json_t *value_parse(const char *text, size_t len);

/* 0 for what is no number, or negative. */
uint64_t value_u64(const json_t *object, const char *key);
uint32_t value_u32(const json_t *object, const char *key);
double value_real(const json_t *object, const char *key);
/* NULL for what is no string. */
const char *value_text(const json_t *object, const char *key);
bool value_is_true(const json_t *object, const char *key);
bool value_is_number(const json_t *object, const char *key);
/* ns of CLOCK_REALTIME; 0 for what is no time as time_format() writes it. */
uint64_t value_time(const json_t *object, const char *key);

/* "type 7 (lookup, get)", of type and type_name; "" without a type. */
char *value_type(const json_t *object, char *ret, size_t size);

#endif /* _USER_OUT_READ_JSON_VALUE_H */
