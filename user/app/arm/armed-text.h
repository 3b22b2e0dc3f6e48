/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_APP_ARM_ARMED_TEXT_H
#define _USER_APP_ARM_ARMED_TEXT_H

#include <stdint.h>

struct armed_prices;
struct armed_profile;
struct arming;
struct link;

/* The profiles that were armed before. */
struct armed_before {
	struct armed_profile *profiles;
	uint32_t nr;
};

/* Print what a profile that was just armed guards, and what to expect of it. */
void armed_text(const struct arming *arming, const struct armed_before *before,
		const struct armed_prices *prices, struct link *link);

#endif /* _USER_APP_ARM_ARMED_TEXT_H */
