// SPDX-License-Identifier: GPL-2.0

#include "binary/helper/code-server.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binary/code/code-map.h"
#include "binary/code/fingerprint-read.h"
#include "binary/code/gs-base.h"
#include "binary/helper/code-wire.h"
#include "binary/helper/confine.h"
#include "binary/helper/foreign-code.h"
#include "binary/helper/answering.h"

struct code_server {
	const struct code_order *order;
	struct code_map *code;
	struct samples_function *described; /* those that were sent */
	uint32_t *numbers; /* of the file's functions, among them */
	uint32_t nr;
	uint8_t *prints; /* packed */
	uint32_t prints_size;
};

/*
 * A function without a cheap site is a leaf almost always; it would cost most and show
 * nothing of the tree's shape, so it is left out.
 */
static bool describe(const struct code_map *code, const struct function *function,
		     struct samples_function *ret)
{
	if (function->is_plt || function->is_cold || code_map_describe(code, function, 0, ret))
		return false;
	if (ret->cost == SAMPLES_COST_CHEAP || !function->is_leaf)
		return true;
	free(ret->name);
	return false;
}

static int list(struct code_server *server)
{
	const struct functions *functions = &server->code->functions;

	if (array_new(server->numbers, functions->nr) || array_new(server->described, functions->nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < functions->nr; i++) {
		server->numbers[i] = FOREIGN_CODE_NONE;
		if (describe(server->code, &functions->entries[i], &server->described[server->nr]))
			server->numbers[i] = server->nr++;
	}
	return 0;
}

/* Without them all else is well. */
static void pack_prints(struct code_server *server)
{
	struct fingerprints prints;

	if (fingerprints_read(server->code->object, &server->code->functions, &prints))
		return;
	if (fingerprints_pack(&prints, &server->prints, &server->prints_size))
		server->prints_size = 0;
	fingerprints_deinit(&prints);
}

static bool send_file(const struct code_server *server, int error)
{
	struct code_wire_file file = { .kind = CODE_WIRE_FILE, .error = error };
	struct runtime_candidate runtime;

	if (error)
		return serve_answer(&file, sizeof(file));
	runtime_libraries_read(server->code->object, &runtime);
	file.nr_functions = server->nr;
	file.uses_gs = server->order->has_windows && gs_base_is_used(&server->code->functions);
	file.has_private = runtime.has_private;
	file.prints_size = server->prints_size;
	memcpy(file.build_id, server->code->object->build_id, sizeof(file.build_id));
	memcpy(file.soname, runtime.soname, sizeof(file.soname));
	memcpy(file.file, runtime.file, sizeof(file.file));
	memcpy(file.interpreter, runtime.interpreter, sizeof(file.interpreter));
	return serve_answer(&file, sizeof(file));
}

static bool send_function(const struct code_server *server, const struct function *function,
			  const struct samples_function *described)
{
	struct window_site window = { 0 };
	struct code_wire_function message = {
		.kind = CODE_WIRE_FUNCTION,
		.is_leaf = function->is_leaf,
		.cost = described->cost,
		.size = described->size,
		.sp_delta = described->sp_delta,
		.offset = described->offset,
		.site = described->site,
	};
	size_t size = described->name ? strnlen(described->name, WIRE_NAME - 1) : 0;

	if (server->order->has_windows)
		window_site_find(&server->code->functions, function, &window);
	message.window = window.verdict;
	message.window_sp_delta = window.sp_delta;
	message.window_offset = window.offset;
	memcpy(message.name, described->name ? described->name : "", size);
	return serve_answer(&message, offsetof(struct code_wire_function, name) + size + 1);
}

static bool send_functions(const struct code_server *server)
{
	const struct functions *functions = &server->code->functions;

	for (uint32_t i = 0; i < functions->nr; i++)
		if (server->numbers[i] != FOREIGN_CODE_NONE &&
		    !send_function(server, &functions->entries[i],
				   &server->described[server->numbers[i]]))
			return false;
	return true;
}

static bool send_prints(const struct code_server *server)
{
	struct code_wire_prints message = { .kind = CODE_WIRE_PRINTS };
	uint32_t size;

	for (uint32_t at = 0; at < server->prints_size; at += size) {
		size = server->prints_size - at < CODE_WIRE_PIECE ? server->prints_size - at
								    : CODE_WIRE_PIECE;
		memcpy(message.bytes, server->prints + at, size);
		if (!serve_answer(&message, offsetof(struct code_wire_prints, bytes) + size))
			return false;
	}
	return true;
}

static uint32_t number_at(const struct code_server *server, uint64_t offset)
{
	const struct function *function = code_map_function(server->code, offset);

	return function ? server->numbers[function - server->code->functions.entries] :
			  FOREIGN_CODE_NONE;
}

static bool answer_call(const struct code_server *server, const struct code_wire_question *question)
{
	struct code_wire_call answer = {
		.kind = CODE_WIRE_CALL,
		.caller = number_at(server, question->return_offset - 1),
		.callee = FOREIGN_CODE_NONE,
	};
	struct code_map_call call;

	if (question->is_near && !code_map_call_at(server->code, question->return_offset, &call)) {
		if (!call.is_indirect)
			answer.callee = number_at(server, call.target);
		answer.is_indirect = call.is_indirect;
		/* a switch whose jumps are not known may be what leads back */
		answer.is_in_loop = call.nr_loops || call.may_hide_loops;
	}
	return serve_answer(&answer, sizeof(answer));
}

void code_server_main(void *order)
{
	struct code_server server = { .order = order };
	struct code_wire_question question;
	int error, fd;

	serve_begin();
	error = code_map_open(CONFINE_FILE, server.order->path, &server.code);
	if (!error)
		error = list(&server);
	if (!error)
		pack_prints(&server);
	if (!send_file(&server, error) || error || !send_functions(&server) || !send_prints(&server))
		return;
	while (serve_receive(&question, sizeof(question), &fd))
		if (!answer_call(&server, &question))
			return;
}
