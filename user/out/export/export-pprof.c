// SPDX-License-Identifier: GPL-2.0
/*
 * A profile as pprof reads it: profile.proto of github.com/google/pprof, compressed.  A sample is
 * a stack with the time that it stands for; late counts each unit or request once, at the stack
 * that stands for most of its time.
 */

#include "out/export/export-formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash-index.h"
#include "out/alert/hotpath.h"
#include "out/export/exported.h"
#include "out/export/proto.h"

/* Numbers of fields. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION,
       PROFILE_FUNCTION, PROFILE_STRING, PROFILE_TIME = 9, PROFILE_DURATION,
       PROFILE_COMMENT = 13, PROFILE_DEFAULT_SAMPLE_TYPE };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_LIMIT = 3, MAPPING_FILE = 5, MAPPING_BUILD_ID,
       MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

struct pprof {
	struct proto proto;
	/* By their hashes; what they are was written when they were added. */
	struct hash_index strings, mappings, locations, functions;
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
	bool has_failed; /* out of memory */
};

/* The number of what has this hash, from 0; *@ret_is_new if it had none before. */
static uint64_t number_of(struct pprof *pprof, struct hash_index *index, uint64_t hash,
			  bool *ret_is_new)
{
	uint32_t cursor = 0, found = hash_index_next(index, hash, &cursor);

	*ret_is_new = found == HASH_INDEX_NONE;
	if (!*ret_is_new)
		return found;
	if (hash_index_add(index, hash)) {
		*ret_is_new = false;
		pprof->has_failed = true;
		return 0;
	}
	return index->nr - 1;
}

static uint64_t string_of(struct pprof *pprof, const char *text)
{
	size_t len = strlen(text);
	uint64_t ret;
	bool is_new;

	ret = number_of(pprof, &pprof->strings, hash_fnv1a(HASH_FNV1A, text, len), &is_new);
	if (is_new)
		proto_bytes(&pprof->proto, PROFILE_STRING, text, len);
	return ret;
}

static void put(struct pprof *pprof, unsigned int field, struct proto *inner)
{
	if (proto_message(&pprof->proto, field, inner))
		pprof->has_failed = true;
}

/* Numbers of these three are from 1. */
static uint64_t mapping_of(struct pprof *pprof, const char *module, const char *build_id)
{
	uint64_t file, id, ret;
	struct proto proto;
	bool is_new;

	if (!module)
		return 0;
	file = string_of(pprof, module);
	id = string_of(pprof, build_id ?: "");
	ret = number_of(pprof, &pprof->mappings, hash_mix(hash_mix(HASH_FNV1A, file), id), &is_new) + 1;
	if (!is_new)
		return ret;
	proto_open(&proto);
	proto_u64(&proto, MAPPING_ID, ret);
	proto_u64(&proto, MAPPING_LIMIT, INT64_MAX);
	proto_u64(&proto, MAPPING_FILE, file);
	proto_u64(&proto, MAPPING_BUILD_ID, id);
	/* It is not to look for them in files of the machine where it is shown. */
	proto_u64(&proto, MAPPING_HAS_FUNCTIONS, 1);
	put(pprof, PROFILE_MAPPING, &proto);
	return ret;
}

static uint64_t function_of(struct pprof *pprof, const struct frame *frame)
{
	char text[EXPORTED_NAME_MAX];
	uint64_t name = string_of(pprof, exported_frame_name(frame, text));
	uint64_t file = string_of(pprof, frame->module ?: "");
	struct proto proto;
	uint64_t ret;
	bool is_new;

	ret = number_of(pprof, &pprof->functions, hash_mix(hash_mix(HASH_FNV1A, name), file), &is_new) + 1;
	if (!is_new)
		return ret;
	proto_open(&proto);
	proto_u64(&proto, FUNCTION_ID, ret);
	proto_u64(&proto, FUNCTION_NAME, name);
	proto_u64(&proto, FUNCTION_SYSTEM_NAME, name);
	proto_u64(&proto, FUNCTION_FILE, file);
	put(pprof, PROFILE_FUNCTION, &proto);
	return ret;
}

static uint64_t location_of(struct pprof *pprof, const struct frame *frame)
{
	uint64_t mapping = mapping_of(pprof, frame->module, frame->build_id), ret;
	uint64_t function = function_of(pprof, frame), hash;
	struct proto proto, line;
	bool is_new;

	hash = hash_mix(hash_mix(hash_mix(HASH_FNV1A, mapping), function), frame->offset);
	ret = number_of(pprof, &pprof->locations, hash, &is_new) + 1;
	if (!is_new)
		return ret;
	proto_open(&proto);
	proto_u64(&proto, LOCATION_ID, ret);
	proto_u64(&proto, LOCATION_MAPPING, mapping);
	proto_u64(&proto, LOCATION_ADDRESS, frame->offset);
	proto_open(&line);
	proto_u64(&line, LINE_FUNCTION, function);
	if (proto_message(&proto, LOCATION_LINE, &line))
		pprof->has_failed = true;
	put(pprof, PROFILE_LOCATION, &proto);
	return ret;
}

static void put_label(struct pprof *pprof, struct proto *sample, const char *key, const char *text,
		      uint64_t number)
{
	struct proto label;

	proto_open(&label);
	proto_u64(&label, LABEL_KEY, string_of(pprof, key));
	if (text)
		proto_u64(&label, LABEL_TEXT, string_of(pprof, text));
	proto_u64(&label, LABEL_NUMBER, number);
	if (proto_message(sample, SAMPLE_LABEL, &label))
		pprof->has_failed = true;
}

/* Both values are there in every sample: a repeated 0 is none that may be left out. */
static void put_value(struct proto *sample, uint64_t value)
{
	if (value)
		proto_u64(sample, SAMPLE_VALUE, value);
	else
		proto_bytes(sample, SAMPLE_VALUE, "", 1); /* packed, of one 0 */
}

static void put_sample(struct pprof *pprof, const struct exported *exported,
		       const struct exported_stack *stack, uint64_t count, uint64_t ns)
{
	const struct frame none = { .function = exported->place };
	struct proto sample;

	proto_open(&sample);
	if (stack && stack->syscall)
		proto_u64(&sample, SAMPLE_LOCATION,
			  location_of(pprof, &(struct frame){ .function = stack->syscall }));
	for (uint32_t i = 0; stack && i < stack->nr_frames; i++)
		proto_u64(&sample, SAMPLE_LOCATION, location_of(pprof, &stack->frames[i]));
	if (!stack)
		proto_u64(&sample, SAMPLE_LOCATION, location_of(pprof, &none));
	put_value(&sample, count);
	put_value(&sample, ns);
	put_label(pprof, &sample, "kind", exported->kind, 0);
	put_label(pprof, &sample, "program", exported->program, 0);
	if (*exported->type)
		put_label(pprof, &sample, "type", exported->type, 0);
	if (*exported->comm)
		put_label(pprof, &sample, "thread", exported->comm, 0);
	put_label(pprof, &sample, "pid", NULL, exported->pid);
	put(pprof, PROFILE_SAMPLE, &sample);
}

static const struct exported_stack *largest_of(const struct exported *exported)
{
	const struct exported_stack *ret = NULL;

	for (uint32_t i = 0; i < exported->nr_stacks; i++)
		if (exported->stacks[i].ns > (ret ? ret->ns : 0))
			ret = &exported->stacks[i];
	return ret;
}

static int add(const struct exported *exported, void *arg)
{
	const struct exported_stack *largest = largest_of(exported);
	struct pprof *pprof = arg;
	uint64_t begin_ns = exported->begin_ns, end_ns = begin_ns + exported->elapsed_ns;

	for (uint32_t i = 0; i < exported->nr_stacks; i++)
		if (exported->stacks[i].ns)
			put_sample(pprof, exported, &exported->stacks[i],
				   &exported->stacks[i] == largest, exported->stacks[i].ns);
	if (!largest)
		put_sample(pprof, exported, NULL, 1, exported->elapsed_ns);
	if (begin_ns && (!pprof->begin_ns || begin_ns < pprof->begin_ns))
		pprof->begin_ns = begin_ns;
	if (begin_ns && end_ns > pprof->end_ns)
		pprof->end_ns = end_ns;
	return pprof->has_failed ? -ENOMEM : 0;
}

static void put_sample_type(struct pprof *pprof, const char *name, const char *unit)
{
	struct proto type;

	proto_open(&type);
	proto_u64(&type, TYPE_TYPE, string_of(pprof, name));
	proto_u64(&type, TYPE_UNIT, string_of(pprof, unit));
	put(pprof, PROFILE_SAMPLE_TYPE, &type);
}

static int put_compressed(FILE *file, const struct proto *proto)
{
	z_stream stream = { 0 };
	unsigned char *out;
	int ret = -ENOMEM;
	uLong room;

	/* 16 more bits: with gzip's head. */
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return ret;
	room = deflateBound(&stream, proto->len);
	out = malloc(room);
	stream.next_in = (unsigned char *)proto->bytes;
	stream.avail_in = (uInt)proto->len;
	stream.next_out = out;
	stream.avail_out = (uInt)room;
	if (out && proto->len <= UINT32_MAX && deflate(&stream, Z_FINISH) == Z_STREAM_END) {
		fwrite(out, 1, stream.total_out, file);
		ret = 0;
	}
	free(out);
	deflateEnd(&stream);
	return ret;
}

static void put_head(struct pprof *pprof)
{
	/* The first string is the empty one. */
	string_of(pprof, "");
	put_sample_type(pprof, "late", "count");
	put_sample_type(pprof, "time", "nanoseconds");
	proto_u64(&pprof->proto, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(pprof, "time"));
	proto_u64(&pprof->proto, PROFILE_COMMENT,
		  string_of(pprof, "Late units and requests, by perfguard"));
}

int export_pprof(FILE *file, const struct incidents *incidents)
{
	struct pprof pprof = { 0 };
	int ret;

	proto_open(&pprof.proto);
	put_head(&pprof);
	ret = exported_each(incidents, add, &pprof);
	proto_u64(&pprof.proto, PROFILE_TIME, pprof.begin_ns);
	proto_u64(&pprof.proto, PROFILE_DURATION, pprof.end_ns - pprof.begin_ns);
	if (!ret)
		ret = proto_close(&pprof.proto);
	if (!ret)
		ret = pprof.has_failed ? -ENOMEM : put_compressed(file, &pprof.proto);
	proto_free(&pprof.proto);
	hash_index_deinit(&pprof.strings);
	hash_index_deinit(&pprof.mappings);
	hash_index_deinit(&pprof.locations);
	hash_index_deinit(&pprof.functions);
	return ret;
}
