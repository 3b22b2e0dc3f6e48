// SPDX-License-Identifier: GPL-2.0

#include "data/loop.h"

#include <stdlib.h>
#include <string.h>

void loop_clear(struct loop *loop)
{
	free(loop->contexts);
	memset(loop, 0, sizeof(*loop));
}
