// SPDX-License-Identifier: GPL-2.0

#include "data/fingerprint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash-index.h"

enum {
	LEAST_FUNCTION = 22, /* bytes of one, packed: two hashes, and a byte for each other field */
	LEAST_REF = 3,
	KIND_BITS = 3,
};

void fingerprints_deinit(struct fingerprints *prints)
{
	free(prints->functions);
	free(prints->refs);
	*prints = (struct fingerprints){ 0 };
}

uint32_t fingerprints_find(const struct fingerprints *prints, uint64_t offset)
{
	uint32_t nr = prints->nr ? prints->nr - 1 : 0; /* without the data */
	uint32_t at = (uint32_t)array_bisect(i, nr, prints->functions[i].offset >= offset);

	return at < nr && prints->functions[at].offset == offset ? at : UINT32_MAX;
}

uint32_t fingerprint_name(const char *name)
{
	return (uint32_t)(hash_fnv1a(HASH_FNV1A, name, strlen(name)) >> 32) ?: 1;
}

/* Bytes being written, seven bits of a number each. */
struct print_writer {
	uint8_t *bytes;
	size_t nr;
	size_t max;
	int error;
};

static void put_bytes(struct print_writer *writer, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size && !writer->error; i++) {
		writer->error = array_grow(writer->bytes, writer->nr, writer->max);
		if (!writer->error)
			writer->bytes[writer->nr++] = ((const uint8_t *)bytes)[i];
	}
}

static void put(struct print_writer *writer, uint64_t number)
{
	uint8_t bytes[10];
	size_t nr = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[nr++] = (uint8_t)(number | 0x80);
	bytes[nr++] = (uint8_t)number;
	put_bytes(writer, bytes, nr);
}

/* Small if @to is near @from, before or behind it. */
static uint64_t step_of(uint64_t from, uint64_t to)
{
	uint64_t step = to - from;

	return step << 1 ^ (0 - (step >> 63));
}

static uint64_t stepped(uint64_t from, uint64_t step)
{
	return from + (step >> 1 ^ (0 - (step & 1)));
}

static void put_ref(struct print_writer *writer, uint32_t function, uint64_t before,
		    const struct fingerprint_ref *ref)
{
	put(writer, step_of(before, ref->end) << KIND_BITS | (uint64_t)ref->kind);
	put(writer, ref->kind <= FINGERPRINT_CODE ? step_of(function, ref->value) : ref->value);
	put(writer, ref->frame + 1u); /* none is 0 */
}

static void put_function(struct print_writer *writer, const struct fingerprints *prints, uint32_t i)
{
	const struct fingerprint *print = &prints->functions[i];
	uint64_t before = print->offset;

	put(writer, print->offset - (i ? prints->functions[i - 1].offset : 0));
	put_bytes(writer, &print->code, sizeof(print->code));
	put_bytes(writer, &print->shape, sizeof(print->shape));
	put(writer, print->name);
	put(writer, print->size);
	put(writer, print->nr_insns);
	put(writer, print->nr_branches);
	put(writer, print->nr_refs);
	for (uint32_t j = 0; j < print->nr_refs; j++) {
		const struct fingerprint_ref *ref = &prints->refs[print->first_ref + j];

		put_ref(writer, i, before, ref);
		before = ref->end;
	}
}

int fingerprints_pack(const struct fingerprints *prints, uint8_t **ret, uint32_t *ret_size)
{
	struct print_writer writer = { .bytes = NULL };

	put(&writer, prints->nr);
	put(&writer, prints->nr_refs);
	for (uint32_t i = 0; i < prints->nr; i++)
		put_function(&writer, prints, i);
	if (!writer.error && writer.nr > FINGERPRINT_MAX_BYTES)
		writer.error = -ENOMEM;
	if (writer.error) {
		free(writer.bytes);
		return writer.error;
	}
	*ret = writer.bytes;
	*ret_size = (uint32_t)writer.nr;
	return 0;
}

struct print_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool has_failed;
};

static uint64_t get(struct print_reader *reader, uint64_t max)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (number > max)
			break;
		return number;
	}
	reader->has_failed = true;
	return 0;
}

static uint64_t get_hash(struct print_reader *reader)
{
	uint64_t hash = 0;

	if (reader->end - reader->at < (ptrdiff_t)sizeof(hash)) {
		reader->has_failed = true;
		return 0;
	}
	memcpy(&hash, reader->at, sizeof(hash));
	reader->at += sizeof(hash);
	return hash;
}

static void get_ref(struct print_reader *reader, uint32_t function, uint32_t nr, uint64_t before,
		    struct fingerprint_ref *ret)
{
	uint64_t head = get(reader, UINT64_MAX), value;

	ret->kind = (enum fingerprint_kind)(head & ((1 << KIND_BITS) - 1));
	ret->end = stepped(before, head >> KIND_BITS);
	value = get(reader, UINT64_MAX);
	if (ret->kind <= FINGERPRINT_CODE)
		value = stepped(function, value);
	reader->has_failed |= ret->kind >= FINGERPRINT_NR_KINDS ||
			      value >= (ret->kind <= FINGERPRINT_CODE ? nr : 1ull << 32);
	ret->value = (uint32_t)value;
	ret->frame = (uint32_t)get(reader, UINT32_MAX) - 1;
}

static void get_function(struct print_reader *reader, struct fingerprints *ret, uint32_t i,
			 uint32_t max_refs)
{
	struct fingerprint *print = &ret->functions[i];
	uint64_t before = i ? ret->functions[i - 1].offset : 0, gap = get(reader, INT64_MAX);
	bool is_data = i + 1 == ret->nr;

	print->offset = before + gap;
	reader->has_failed |= (i && !gap && !is_data) || print->offset > INT64_MAX;
	print->code = get_hash(reader);
	print->shape = get_hash(reader);
	print->name = (uint32_t)get(reader, UINT32_MAX);
	print->size = (uint32_t)get(reader, UINT32_MAX);
	print->nr_insns = (uint32_t)get(reader, UINT32_MAX);
	print->nr_branches = (uint32_t)get(reader, UINT32_MAX);
	print->first_ref = ret->nr_refs;
	print->nr_refs = (uint32_t)get(reader, max_refs - ret->nr_refs);
	before = print->offset;
	for (uint32_t j = 0; j < print->nr_refs && !reader->has_failed; j++) {
		struct fingerprint_ref *ref = &ret->refs[ret->nr_refs++];

		get_ref(reader, i, ret->nr, before, ref);
		before = ref->end;
	}
}

int fingerprints_unpack(const uint8_t *bytes, uint32_t size, struct fingerprints *ret)
{
	struct print_reader reader = { .at = bytes, .end = bytes + size };
	uint32_t nr = (uint32_t)get(&reader, size / LEAST_FUNCTION);
	uint32_t nr_refs = (uint32_t)get(&reader, size / LEAST_REF);

	*ret = (struct fingerprints){ 0 };
	if (reader.has_failed || nr > FINGERPRINT_MAX_FUNCTIONS || nr_refs > FINGERPRINT_MAX_REFS)
		return -EBADMSG;
	if (array_new(ret->functions, nr) || array_new(ret->refs, nr_refs)) {
		fingerprints_deinit(ret);
		return -ENOMEM;
	}
	ret->nr = nr;
	for (uint32_t i = 0; i < nr && !reader.has_failed; i++)
		get_function(&reader, ret, i, nr_refs);
	if (!reader.has_failed && reader.at == reader.end && ret->nr_refs == nr_refs)
		return 0;
	fingerprints_deinit(ret);
	return -EBADMSG;
}
