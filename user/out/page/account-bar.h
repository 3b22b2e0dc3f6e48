/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_OUT_PAGE_ACCOUNT_BAR_H
#define _USER_OUT_PAGE_ACCOUNT_BAR_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/*
 * The time account of a unit, or of all of a loop, as a bar: @account is time_ns of its JSON; it
 * took @elapsed_ns, or what the parts add up to, if that is more.
 */
void account_bar_put(FILE *file, const char *title, const json_t *account, uint64_t elapsed_ns);

#endif /* _USER_OUT_PAGE_ACCOUNT_BAR_H */
