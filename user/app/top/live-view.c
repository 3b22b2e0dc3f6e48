// SPDX-License-Identifier: GPL-2.0

#include "app/top/live-view.h"

int top_run(const struct top_options *options)
{
	return top_once(options);
}
