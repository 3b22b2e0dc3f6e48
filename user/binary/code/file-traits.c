// SPDX-License-Identifier: GPL-2.0

#include "binary/code/file-traits.h"

#include <errno.h>
#include <string.h>

#include "binary/code/ranges.h"
#include "binary/code/runtimes.h"
#include "binary/file/object.h"

static void count(struct object *object, const struct ranges *ranges, struct file_traits *ret)
{
	for (uint32_t i = 0; i < ranges->nr; i++) {
		const struct range *range = &ranges->entries[i];
		const char *name = NULL;
		uint64_t start;

		ret->known_bytes += range->size;
		if (range->kind != RANGE_FUNCTION)
			continue;
		ret->nr_functions++;
		ret->nr_named += !object_function(object, range->addr, &start, &name) && name;
	}
}

static int count_all(struct object *object, struct file_traits *ret)
{
	struct ranges ranges;
	int err;

	for (uint32_t i = 0; i < object->view.nr_segments; i++)
		if (object->view.segments[i].executable)
			ret->code_bytes += object->view.segments[i].size;
	err = ranges_read(&object->view, &object->fdes, object->elf, &object->go, &ranges);
	if (err)
		return err == -ENODATA ? 0 : err;
	count(object, &ranges, ret);
	ranges_deinit(&ranges);
	return 0;
}

int file_traits_read(struct object *object, bool counts, struct file_traits *ret)
{
	GElf_Phdr header;

	*ret = (struct file_traits){
		.nr_go = object->go.nr,
		.runtimes = runtimes_find(object->elf),
		.is_static = !file_view_header(object->elf, PT_INTERP, &header),
	};
	return counts ? count_all(object, ret) : 0;
}
