// SPDX-License-Identifier: GPL-2.0

#include "binary/code/code-map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int code_map_open(int fd, const char *path, struct code_map **ret)
{
	struct code_map *code = calloc(1, sizeof(*code));
	int err;

	if (!code) {
		close(fd);
		return -ENOMEM;
	}
	err = object_create(fd, path, &code->object);
	if (!err)
		err = functions_read(code->object, &code->functions);
	if (err) {
		code_map_close(code);
		return err;
	}
	*ret = code;
	return 0;
}

void code_map_close(struct code_map *code)
{
	if (!code)
		return;
	cfg_deinit(&code->cfg);
	functions_deinit(&code->functions);
	object_destroy(code->object);
	free(code);
}

bool code_map_offset(const struct code_map *code, uint64_t addr, uint64_t *ret)
{
	return file_view_offset(&code->object->view, addr, 1, ret);
}

bool code_map_addr(const struct code_map *code, uint64_t offset, uint64_t *ret)
{
	const struct file_view *view = &code->object->view;

	for (uint32_t i = 0; i < view->nr_segments; i++) {
		const struct segment *segment = &view->segments[i];

		if (!segment->executable || offset - segment->offset >= segment->size)
			continue;
		*ret = segment->addr + (offset - segment->offset);
		return true;
	}
	return false;
}

const struct function *code_map_function(const struct code_map *code, uint64_t offset)
{
	uint64_t addr;

	return code_map_addr(code, offset, &addr) ? functions_find(&code->functions, addr) : NULL;
}

int code_map_describe(const struct code_map *code, const struct function *function, uint32_t object,
		  struct samples_function *ret)
{
	struct probe_site site;

	probe_site_find(&code->functions, function, &site);
	if (site.class == PROBE_SITE_NONE)
		return -ENOTSUP;
	*ret = (struct samples_function){
		.object = object,
		.offset = function->offset,
		.size = function->size,
		.site = site.offset,
		.sp_delta = site.sp_delta,
		.cost = site.class == PROBE_SITE_CHEAP ? SAMPLES_COST_CHEAP : SAMPLES_COST_STEPPED,
		.name = function->name ? strdup(function->name) : NULL,
	};
	return function->name && !ret->name ? -ENOMEM : 0;
}

static int get_cfg(struct code_map *code, const struct function *function)
{
	int err;

	if (code->cfg_of == function)
		return 0;
	cfg_deinit(&code->cfg);
	code->cfg_of = NULL;
	err = cfg_init(&code->cfg, &code->functions, function);
	if (!err)
		code->cfg_of = function;
	return err;
}

static const struct code_insn *find_call(const struct cfg *cfg, uint32_t block, uint64_t end)
{
	const struct cfg_block *its = &cfg->blocks[block];

	for (uint32_t i = its->first_insn; i < its->first_insn + its->nr_insns; i++) {
		const struct code_insn *at = &cfg->insns[i];

		if (at->addr + at->insn.size == end && insn_is_call(at->insn.flow))
			return at;
	}
	return NULL;
}

static void describe_loops(const struct code_map *code, uint32_t block, struct code_map_call *ret)
{
	const struct dominators *dominators = &code->cfg.dominators;
	uint32_t loop = dominators->loop[block];

	for (; loop != GRAPH_NONE; loop = dominators->outer[loop]) {
		uint64_t header = 0;

		code_map_offset(code, code->cfg.blocks[dominators->header[loop]].addr, &header);
		if (!ret->nr_loops++)
			ret->inner_header = header;
		ret->outer_header = header;
	}
}

int code_map_call_at(struct code_map *code, uint64_t return_offset, struct code_map_call *ret)
{
	const struct function *function = code_map_function(code, return_offset - 1);
	const struct code_insn *call;
	uint64_t addr;
	uint32_t block;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (!function || !code_map_addr(code, return_offset - 1, &addr))
		return -ENOENT;
	err = get_cfg(code, function);
	if (err)
		return err;
	block = cfg_find(&code->cfg, addr);
	call = block == GRAPH_NONE ? NULL : find_call(&code->cfg, block, addr + 1);
	if (!call)
		return -ENOENT;
	ret->function = function;
	ret->is_indirect = call->insn.flow == INSN_CALL_INDIRECT;
	ret->may_hide_loops = code->cfg.nr_unresolved > 0;
	if (!ret->is_indirect)
		code_map_offset(code, call->insn.target, &ret->target);
	describe_loops(code, block, ret);
	return 0;
}

int code_maps_get(struct code_maps *codes, int fd, const char *path, struct code_map **ret)
{
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	/* an entry keeps its file open, so its inode number is not reused */
	for (struct code_map *code = codes->first; code; code = code->next) {
		if (code->inode != st.st_ino || code->dev != st.st_dev)
			continue;
		close(fd);
		*ret = code;
		return 0;
	}
	err = code_map_open(fd, path, ret);
	if (err)
		return err;
	(*ret)->inode = st.st_ino;
	(*ret)->dev = st.st_dev;
	(*ret)->next = codes->first;
	codes->first = *ret;
	return 0;
}

void code_maps_deinit(struct code_maps *codes)
{
	while (codes->first) {
		struct code_map *code = codes->first;

		codes->first = code->next;
		code_map_close(code);
	}
}
