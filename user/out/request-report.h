/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requests of clients, as the audit reports them.
 */
#ifndef _USER_OUT_REQUEST_REPORT_H
#define _USER_OUT_REQUEST_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "data/requests.h"
#include "out/json.h"

/* Its time that is in none of the other parts. */
uint64_t request_between_ns(const struct slow_request *slow);

/* When it came, CLOCK_REALTIME. */
uint64_t request_wall_ns(const struct slow_request *slow);

/* "queued 1 ms, in units 3 ms"; @size is more than that takes. */
void request_parts_text(const struct slow_request *slow, char *ret, size_t size);

/* The same as an object of that name. */
void request_parts_json(struct json *json, const char *name, const struct slow_request *slow);

/* What it took on average, and in which parts; all 0 if there was none. */
struct slow_request request_average(const struct requests *requests);

/* What is known of it, into the object that is open. */
void request_json(struct json *json, const struct slow_request *slow);

/* An object of kind "requests", and one of kind "slow-request" for each of the @nr slowest. */
int request_report_json(struct json *json, FILE *file, const struct requests *requests, uint32_t nr);

/* A few lines, and one or two for each of the @nr slowest; nothing if there was no request. */
void request_report_text(FILE *file, const struct requests *requests, uint32_t nr,
			 uint64_t duration_ns);

#endif /* _USER_OUT_REQUEST_REPORT_H */
