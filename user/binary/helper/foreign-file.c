// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/foreign-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/demangle.h"
#include "base/open-in-root.h"
#include "binary/helper/file-server.h"
#include "binary/helper/wanted.h"

enum {
	MAX_FACTS = 1 << 14, /* of a file, at a time */
	CPU_S = 10, /* of a helper */
	MAX_QUESTIONS = 10000, /* then there is a new helper, as its CPU time is limited */
};

static bool is_sound_file(const struct wire_file *about)
{
	const char *id = about->build_id;

	return !about->error && about->nr_segments && about->nr_segments < WIRE_MAX_SEGMENTS &&
	       about->head_size <= WIRE_HEAD && memchr(id, '\0', sizeof(about->build_id)) &&
	       strspn(id, "0123456789abcdef") == strlen(id);
}

static int start(struct foreign_file *file, struct wire_file *ret)
{
	int error;

	file->nr_questions = 0;
	demangle_load(); /* the helper may open nothing */
	error = helper_start(&file->helper, file->fd, CPU_S, file_server_main,
			     file->root_path);
	if (error)
		return error;
	error = wanted_receive(&file->helper, file->root_path, WIRE_FILE, ret, sizeof(*ret));
	if (!error && !is_sound_file(ret))
		error = ret->error ? -ENOEXEC : -EIO;
	if (error)
		helper_stop(&file->helper);
	return error;
}

/* Set both paths.  Returns false without memory. */
static bool set_paths(struct foreign_file *file, uint32_t pid, const char *path)
{
	size_t size = strlen(path) + 48;
	char *buf = malloc(size);

	file->path = strdup(path);
	file->root_path = buf ? strdup(pid ? path_in_root(pid, path, buf, size) : path) : NULL;
	free(buf);
	return file->path && file->root_path;
}

int foreign_file_create(int fd, uint32_t pid, const char *path, struct foreign_file **ret)
{
	struct foreign_file *file = calloc(1, sizeof(*file));
	int error = -ENOMEM;

	if (!file) {
		close(fd);
		return error;
	}
	file->fd = fd;
	file->about = malloc(sizeof(*file->about));
	if (set_paths(file, pid, path) && file->about)
		error = start(file, file->about);
	if (error)
		foreign_file_destroy(file);
	else
		*ret = file;
	return error;
}

static void forget_facts(struct foreign_file *file)
{
	for (uint32_t i = 0; i < file->index.nr; i++) {
		rule_deinit(&file->facts[i]->rule);
		free(file->facts[i]->name);
		free(file->facts[i]);
	}
	hash_index_deinit(&file->index);
}

void foreign_file_destroy(struct foreign_file *file)
{
	if (!file)
		return;
	helper_stop(&file->helper);
	forget_facts(file);
	free(file->facts);
	free(file->about);
	free(file->path);
	free(file->root_path);
	close(file->fd);
	free(file);
}

void foreign_file_trim(struct foreign_file *file)
{
	if (file->index.nr > MAX_FACTS)
		forget_facts(file);
}

bool foreign_file_bias(const struct foreign_file *file, const struct mapping *mapping,
		       uint64_t *ret)
{
	uint64_t page = 4096;

	for (uint32_t i = 0; i < file->about->nr_segments; i++) {
		const struct wire_segment *segment = &file->about->segments[i];
		uint64_t first = segment->offset & -page;
		uint64_t last = segment->offset + segment->size;

		/* whole pages are mapped, and a mapping can be a part of its segment */
		if (!segment->executable || mapping->offset < first || mapping->offset >= last)
			continue;
		*ret = mapping->start - mapping->offset + segment->offset - segment->addr;
		return true;
	}
	return false;
}

bool foreign_file_is_entry(const struct foreign_file *file, uint64_t addr)
{
	enum { ENTRY_SIZE = 64 };

	return file->about->entry && addr - file->about->entry < ENTRY_SIZE;
}

static int ask(struct foreign_file *file, uint64_t addr, struct wire_place *ret)
{
	const struct wire_question question = { .addr = addr };
	struct wire_file *about;
	int error = 0;

	if (file->nr_questions == MAX_QUESTIONS)
		helper_stop(&file->helper);
	if (!file->helper.pid) {
		about = malloc(sizeof(*about)); /* the file may be another one by now */
		error = about ? start(file, about) : -ENOMEM;
		free(about);
	}
	file->nr_questions++;
	if (!error)
		error = helper_send(&file->helper, &question, sizeof(question));
	if (!error)
		error = wanted_receive(&file->helper, file->root_path, WIRE_PLACE, ret,
				       sizeof(*ret));
	if (!error && (ret->nr_code > WIRE_CODE || !memchr(ret->name, '\0', sizeof(ret->name)) ||
		       !rule_is_sound(&ret->rule)))
		error = -EIO;
	if (error)
		helper_stop(&file->helper);
	return error;
}

static struct code_facts *copy_facts(const struct wire_place *place)
{
	struct code_facts *facts = malloc(sizeof(*facts));
	size_t size = place->rule.nr_ops * sizeof(*place->ops);

	if (!facts)
		return NULL;
	*facts = (struct code_facts){
		.rule = place->rule,
		.fde_start = place->fde_start,
		.fde_end = place->fde_end,
		.function_start = place->function_start,
		.name = place->name[0] ? strdup(place->name) : NULL,
		.nr_code = place->nr_code,
	};
	facts->rule.ops = size ? malloc(size) : NULL;
	if (facts->rule.ops)
		memcpy(facts->rule.ops, place->ops, size);
	else if (size)
		facts->rule = (struct rule){ .is_missing = true };
	memcpy(facts->code, place->code, sizeof(facts->code));
	return facts;
}

const struct code_facts *foreign_file_facts(struct foreign_file *file, uint64_t addr)
{
	uint64_t hash = hash_mix(0, addr); /* another one for each address */
	uint32_t cursor = 0, at = hash_index_next(&file->index, hash, &cursor);
	struct code_facts *facts;
	struct wire_place place;
	int error;

	if (at != HASH_INDEX_NONE)
		return file->facts[at];
	if (file->has_failed)
		return NULL;
	error = ask(file, addr, &place);
	file->has_failed = error == -EIO || error == -ENOEXEC;
	facts = error ? NULL : copy_facts(&place);
	if (!facts)
		return NULL;
	at = file->index.nr;
	if (array_grow(file->facts, at, file->max_facts) || hash_index_add(&file->index, hash)) {
		rule_deinit(&facts->rule);
		free(facts->name);
		free(facts);
		return NULL;
	}
	file->facts[at] = facts;
	return facts;
}
