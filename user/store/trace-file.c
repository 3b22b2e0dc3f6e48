// SPDX-License-Identifier: GPL-2.0

#include "store/trace-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define MAGIC "pgtrace\n"
/*
 * 2: a profile in the module cuts units and records their times.
 * 3: objects have fingerprints of their code.
 * 4: hits may be without a time.
 * 5: functions may have windows.
 */
#define VERSION 5

enum {
	MAX_STRING = 4096,
	NO_STRING = UINT16_MAX,
	/* Only the table of events may be longer. */
	MAX_ROWS = 1 << 24,
	/* Bytes of a row in the file, at least. */
	OBJECT_BYTES = 4,
	FUNCTION_BYTES = 34,
	MAPPING_BYTES = 32,
	CONTEXT_BYTES = 44,
	CALL_BYTES = 22,
	LOOP_BYTES = 8,
	/* As the module allows. */
	MAX_CONTEXTS = 256, /* of an image */
};

/*
 * Reading and writing are one pass over the same fields, so that they cannot
 * differ.  After the first error the functions do nothing.
 */
struct trace_stream {
	FILE *file;
	bool is_reading;
	uint32_t version; /* of the file */
	int error; /* negative errno; -EBADMSG: the file is invalid */
	uint64_t left; /* bytes of the file that are not read yet */
	uint64_t digest;
};

static void digest_add(struct trace_stream *stream, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t digest = stream->digest, word;

	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		digest ^= digest >> 32;
	}
	word = size;
	memcpy(&word, at, size);
	if (size)
		digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	stream->digest = digest ^ digest >> 32;
}

static void transfer(struct trace_stream *stream, void *bytes, size_t size)
{
	if (stream->error || !size)
		return;
	if (!stream->is_reading) {
		if (fwrite(bytes, 1, size, stream->file) != size)
			stream->error = errno ? -errno : -EIO;
	} else if (size > stream->left) {
		stream->error = -EBADMSG;
	} else {
		stream->left -= size;
		if (fread(bytes, 1, size, stream->file) != size)
			stream->error = ferror(stream->file) && errno ? -errno : -EBADMSG;
	}
	if (!stream->error)
		digest_add(stream, bytes, size);
}

static void take_u32(struct trace_stream *stream, uint32_t *value)
{
	transfer(stream, value, sizeof(*value));
}

static void take_u64(struct trace_stream *stream, uint64_t *value)
{
	transfer(stream, value, sizeof(*value));
}

static void take_bool(struct trace_stream *stream, bool *value)
{
	uint8_t byte = *value;

	transfer(stream, &byte, 1);
	if (stream->is_reading && byte > 1 && !stream->error)
		stream->error = -EBADMSG;
	*value = byte == 1;
}

static void take_string(struct trace_stream *stream, char **string)
{
	uint16_t length = NO_STRING;

	if (!stream->is_reading && *string)
		length = (uint16_t)strnlen(*string, MAX_STRING - 1);
	transfer(stream, &length, sizeof(length));
	if (stream->error || length == NO_STRING)
		return;
	if (stream->is_reading) {
		if (length >= MAX_STRING) {
			stream->error = -EBADMSG;
			return;
		}
		*string = calloc(1, (size_t)length + 1);
		if (!*string) {
			stream->error = -ENOMEM;
			return;
		}
	}
	transfer(stream, *string, length);
	if (stream->is_reading && !stream->error && strlen(*string) != length)
		stream->error = -EBADMSG;
}

static void take_bytes(struct trace_stream *stream, uint8_t **bytes, uint32_t *nr)
{
	uint32_t count = *nr;

	take_u32(stream, &count);
	if (stream->is_reading && !stream->error && count > stream->left)
		stream->error = -EBADMSG;
	if (stream->error || !count)
		return;
	if (stream->is_reading) {
		*bytes = malloc(count);
		*nr = *bytes ? count : 0;
		stream->error = *bytes ? 0 : -ENOMEM;
	}
	transfer(stream, *bytes, count);
}

/* The rows of a table; made when reading, each with @least bytes or more in the file. */
static void *take_rows(struct trace_stream *stream, void *rows, uint32_t *nr, size_t size,
		       size_t least)
{
	uint32_t count = *nr;

	take_u32(stream, &count);
	if (!stream->is_reading)
		return rows;
	if (!stream->error && (count > MAX_ROWS || count > stream->left / least))
		stream->error = -EBADMSG;
	if (stream->error)
		return NULL;
	rows = calloc((size_t)count + 1, size);
	if (!rows)
		stream->error = -ENOMEM;
	else
		*nr = count;
	return rows;
}

#define TAKE_ROWS(stream, trace, name, least) \
	((trace)->name = take_rows(stream, (trace)->name, &(trace)->nr_##name, \
				   sizeof(*(trace)->name), least))

static void bound(struct trace_stream *stream, uint32_t index, uint32_t nr, bool or_none)
{
	if (!stream->error && index >= nr && !(or_none && index == TRACE_NONE))
		stream->error = -EBADMSG;
}

static void take_objects(struct trace_stream *stream, struct trace *trace)
{
	TAKE_ROWS(stream, trace, objects, OBJECT_BYTES);
	for (uint32_t i = 0; i < trace->nr_objects && !stream->error; i++) {
		struct samples_object *object = &trace->objects[i];

		take_string(stream, &object->path);
		take_string(stream, &object->build_id);
		if (stream->version >= 3)
			take_bytes(stream, &object->code, &object->code_size);
		if (!stream->error && (!object->path || !object->build_id))
			stream->error = -EBADMSG;
	}
}

static void take_functions(struct trace_stream *stream, struct trace *trace)
{
	TAKE_ROWS(stream, trace, functions, FUNCTION_BYTES);
	for (uint32_t i = 0; i < trace->nr_functions && !stream->error; i++) {
		struct samples_function *function = &trace->functions[i];
		take_u32(stream, &function->object);
		take_u64(stream, &function->offset);
		take_u32(stream, &function->size);
		take_u64(stream, &function->site);
		take_u32(stream, &function->sp_delta);
		take_u32(stream, &function->cost);
		take_string(stream, &function->name);
		bound(stream, function->object, trace->nr_objects, false);
		bound(stream, function->cost, SAMPLES_COST_ALL + 1, false);
	}
}

static void take_mappings(struct trace_stream *stream, struct trace *trace)
{
	TAKE_ROWS(stream, trace, mappings, MAPPING_BYTES);
	for (uint32_t i = 0; i < trace->nr_mappings && !stream->error; i++) {
		struct trace_mapping *mapping = &trace->mappings[i];

		take_u32(stream, &mapping->image);
		take_u32(stream, &mapping->object);
		take_u64(stream, &mapping->start);
		take_u64(stream, &mapping->end);
		take_u64(stream, &mapping->offset);
		bound(stream, mapping->object, trace->nr_objects, false);
	}
}

static void take_contexts(struct trace_stream *stream, struct trace *trace)
{
	TAKE_ROWS(stream, trace, contexts, CONTEXT_BYTES);
	for (uint32_t i = 0; i < trace->nr_contexts && !stream->error; i++) {
		struct trace_context *context = &trace->contexts[i];
		uint32_t old = 0;

		take_u32(stream, &context->image);
		take_u32(stream, &context->loop);
		take_u32(stream, &context->syscall);
		take_u32(stream, &context->object);
		take_u64(stream, &context->return_offset);
		take_u32(stream, &context->distance);
		/* Version 1 had two fields more, used only by times. */
		if (stream->version < 2) {
			take_u32(stream, &old);
			take_u32(stream, &old);
		}
		transfer(stream, context->comm, sizeof(context->comm));
		context->comm[sizeof(context->comm) - 1] = '\0';
		bound(stream, context->object, trace->nr_objects, false);
	}
}

static void take_calls(struct trace_stream *stream, struct trace *trace)
{
	TAKE_ROWS(stream, trace, calls, CALL_BYTES);
	for (uint32_t i = 0; i < trace->nr_calls && !stream->error; i++) {
		struct trace_call *call = &trace->calls[i];

		take_u32(stream, &call->object);
		take_u64(stream, &call->offset);
		take_u32(stream, &call->caller);
		take_u32(stream, &call->callee);
		take_bool(stream, &call->is_indirect);
		take_bool(stream, &call->is_in_loop);
		bound(stream, call->object, trace->nr_objects, false);
		bound(stream, call->caller, trace->nr_functions, true);
		bound(stream, call->callee, trace->nr_functions, true);
	}
}

static void take_loops(struct trace_stream *stream, struct trace *trace)
{
	if (stream->version < 2)
		return;
	TAKE_ROWS(stream, trace, loops, LOOP_BYTES);
	for (uint32_t i = 0; i < trace->nr_loops && !stream->error; i++)
		take_u64(stream, &trace->loops[i]);
}

static void take_events(struct trace_stream *stream, struct trace *trace)
{
	uint64_t nr = trace->nr_events;

	take_u64(stream, &nr);
	if (stream->error)
		return;
	if (stream->is_reading) {
		if (nr > stream->left / sizeof(*trace->events)) {
			stream->error = -EBADMSG;
			return;
		}
		trace->events = malloc(nr * sizeof(*trace->events) + 1);
		if (!trace->events) {
			stream->error = -ENOMEM;
			return;
		}
		trace->nr_events = trace->max_events = nr;
	}
	transfer(stream, trace->events, nr * sizeof(*trace->events));
}

static void take_trace(struct trace_stream *stream, struct trace *trace)
{
	uint32_t stage = trace->stage;

	take_u32(stream, &stage);
	bound(stream, stage, TRACE_STAGE_TIMING + 1, false);
	if (!stream->error && stream->version < 2 && stage == TRACE_STAGE_TIMING)
		stream->error = -ESTALE;
	trace->stage = (enum trace_stage)stage;
	take_u64(stream, &trace->lost);
	if (stream->version >= 4)
		take_bool(stream, &trace->is_inline);
	take_objects(stream, trace);
	take_functions(stream, trace);
	take_mappings(stream, trace);
	take_contexts(stream, trace);
	take_calls(stream, trace);
	take_loops(stream, trace);
	take_events(stream, trace);
}

static void take_header(struct trace_stream *stream)
{
	char magic[] = MAGIC;
	uint32_t version = VERSION;

	transfer(stream, magic, sizeof(magic) - 1);
	take_u32(stream, &version);
	stream->version = version;
	if (stream->error)
		return;
	if (memcmp(magic, MAGIC, sizeof(magic) - 1) != 0 || !version)
		stream->error = -EBADMSG;
	else if (version > VERSION)
		stream->error = -EPROTONOSUPPORT;
}

/* The digest stands for itself and is not part of it. */
static void take_digest(struct trace_stream *stream)
{
	uint64_t expected = stream->digest, digest = expected;

	take_u64(stream, &digest);
	if (!stream->error && digest != expected)
		stream->error = -EBADMSG;
	if (!stream->error && stream->left)
		stream->error = -EBADMSG;
}

static int check_contexts(const struct trace *trace)
{
	uint32_t *images = calloc((size_t)trace->nr_contexts + 1, sizeof(*images));
	int error = images ? 0 : -ENOMEM;

	if (error)
		return error;
	for (uint32_t i = 0; i < trace->nr_contexts; i++)
		images[i] = trace->contexts[i].image;
	qsort(images, trace->nr_contexts, sizeof(*images), order_u32);
	for (uint32_t i = MAX_CONTEXTS; i < trace->nr_contexts; i++)
		if (images[i] == images[i - MAX_CONTEXTS])
			error = -EBADMSG;
	free(images);
	return error;
}

/* Arrays that readers search by bisection must be sorted. */
static int check_order(const struct trace *trace)
{
	for (uint32_t i = 1; i < trace->nr_mappings; i++) {
		const struct trace_mapping *a = &trace->mappings[i - 1], *b = a + 1;

		if (a->image > b->image || (a->image == b->image && a->start > b->start))
			return -EBADMSG;
	}
	for (uint32_t i = 1; i < trace->nr_calls; i++) {
		const struct trace_call *a = &trace->calls[i - 1], *b = a + 1;

		if (a->object > b->object || (a->object == b->object && a->offset >= b->offset))
			return -EBADMSG;
	}
	for (size_t i = 1; i < trace->nr_events; i++) {
		const struct perfguard_event *a = &trace->events[i - 1], *b = a + 1;

		if (a->tid > b->tid || (a->tid == b->tid && a->time_ns > b->time_ns))
			return -EBADMSG;
	}
	return 0;
}

static int explain(int error, const char *path, char why[TRACE_FILE_WHY_MAX])
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{ -EBADMSG, "is no trace, or is damaged" },
		{ -EINVAL, "is not a regular file" },
		{ -ESTALE, "has times that an older pg-collect recorded; record them again" },
		{ -EPROTONOSUPPORT, "was written by a newer pg-collect" },
	};

	snprintf(why, TRACE_FILE_WHY_MAX, "cannot read %s: %s", path, strerror(-error));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].error == error)
			snprintf(why, TRACE_FILE_WHY_MAX, "%s %s", path, texts[i].text);
	return error;
}

static int open_file(const char *path, struct trace_stream *stream)
{
	int fd = file_open(path, &stream->left);

	if (fd < 0)
		return fd;
	stream->file = fdopen(fd, "r");
	if (stream->file)
		return 0;
	close(fd);
	return -ENOMEM;
}

int trace_file_load(const char *path, struct trace *trace, char why[TRACE_FILE_WHY_MAX])
{
	struct trace_stream stream = { .is_reading = true };

	*trace = (struct trace){ 0 };
	stream.error = open_file(path, &stream);
	if (!stream.error) {
		take_header(&stream);
		take_trace(&stream, trace);
		take_digest(&stream);
		fclose(stream.file);
	}
	if (!stream.error)
		stream.error = check_contexts(trace);
	if (!stream.error)
		stream.error = check_order(trace);
	if (!stream.error)
		return 0;
	trace_deinit(trace);
	return explain(stream.error, path, why);
}

static int write_trace(int fd, const void *from)
{
	/* Only read: the pass is the same in both directions. */
	struct trace trace = *(const struct trace *)from;
	struct trace_stream stream = { 0 };
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	stream.file = own < 0 ? NULL : fdopen(own, "w");
	if (!stream.file) {
		stream.error = -errno;
		if (own >= 0)
			close(own);
		return stream.error;
	}
	take_header(&stream);
	take_trace(&stream, &trace);
	take_digest(&stream);
	if (fclose(stream.file) && !stream.error)
		stream.error = -errno;
	return stream.error;
}

int trace_file_save(const char *path, const struct trace *trace, char why[TRACE_FILE_WHY_MAX])
{
	return file_replace_by(path, write_trace, trace, why);
}
