// SPDX-License-Identifier: GPL-2.0

#include "out/machine-id.h"

#include <stdio.h>
#include <systemd/sd-id128.h>

/* It never changes: machines would have other ids. */
static const sd_id128_t application =
	SD_ID128_MAKE(70, 67, 9b, 1e, 53, 0d, 4c, 8e, a1, 5f, 27, c3, 64, 98, d2, 0b);

void machine_id(char ret[MACHINE_ID_MAX])
{
	sd_id128_t id;

	if (sd_id128_get_machine_app_specific(application, &id))
		snprintf(ret, MACHINE_ID_MAX, "unknown");
	else
		sd_id128_to_string(id, ret);
}
