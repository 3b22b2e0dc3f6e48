// SPDX-License-Identifier: GPL-2.0

#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

int library_load(struct library *library)
{
	if (!library->handle)
		library->handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
	if (library->handle)
		return 0;
	log_error("cannot load %s, which this needs: %s", library->soname, dlerror());
	return -ELIBACC;
}

void *library_symbol(const struct library *library, const char *name)
{
	void *ret = dlsym(library->handle, name);

	if (ret)
		return ret;
	log_error("%s has no function %s", library->soname, name);
	exit(1);
}
