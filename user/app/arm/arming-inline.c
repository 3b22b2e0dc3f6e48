// SPDX-License-Identifier: GPL-2.0

#include "app/arm/arming.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/command.h"
#include "base/log.h"
#include "base/open-in-root.h"
#include "binary/helper/foreign-code.h"

/* Why no guard may jump where this file is mapped, or NULL; *@ret_error is set to what ends us. */
static const char *why_not(const struct arming *arming, const char *path, int *ret_error)
{
	int fd = open_in_root(*arming->root ? arming->root : "/", path, O_RDONLY | O_NONBLOCK);
	struct foreign_code *code;
	const char *ret = NULL;
	int error;

	if (fd < 0)
		return "cannot be opened, and may use the base of gs";
	error = foreign_code_open_with_windows(fd, path, &code);
	close(fd);
	*ret_error = error == -ENOMEM || error == -EINTR ? error : 0;
	if (error)
		return "cannot be read, and may use the base of gs";
	if (code->uses_gs)
		ret = "uses the base of gs, by which jumps find where to note a hit";
	foreign_code_close(code);
	return ret;
}

int arming_judge_inline(struct arming *arming)
{
	int error = 0;

	for (uint32_t i = 0; i < arming->samples.nr_objects && arming->is_inline; i++) {
		const char *path = arming->samples.objects[i].path;
		const char *why = why_not(arming, path, &error);

		if (error == -ENOMEM)
			return cmd_no_memory();
		if (error)
			return CMD_FAILED;
		if (!why)
			continue;
		log_warning("%s %s; guards stay breakpoints", path, why);
		arming->is_inline = false;
	}
	return 0;
}
