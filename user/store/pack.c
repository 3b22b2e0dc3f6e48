// SPDX-License-Identifier: GPL-2.0

#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void put_byte(struct pack *pack, uint8_t byte)
{
	if (array_grow(pack->bytes, pack->len, pack->size))
		pack->has_failed = true;
	else
		pack->bytes[pack->len++] = byte;
}

static void put(struct pack *pack, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		put_byte(pack, (uint8_t)(number | 0x80));
	put_byte(pack, (uint8_t)number);
}

void pack_rising(struct pack *pack, const uint32_t *numbers, uint32_t nr)
{
	put(pack, nr);
	for (uint32_t i = 0; i < nr; i++)
		put(pack, numbers[i] - (i ? numbers[i - 1] : 0));
}

void pack_hits(struct pack *pack, const struct samples_hit *hits, uint32_t nr, bool has_counts)
{
	put(pack, nr);
	for (uint32_t i = 0; i < nr; i++) {
		put(pack, hits[i].function);
		put(pack, hits[i].depth);
		if (has_counts)
			put(pack, 4 * (uint32_t)hits[i].count + hits[i].quarter);
	}
}

void pack_times(struct pack *pack, const struct samples_times *times)
{
	uint32_t used = 0, next = 0;

	put(pack, times->nr);
	put(pack, times->sum_ns);
	put(pack, (uint64_t)times->sum_squares);
	put(pack, (uint64_t)(times->sum_squares >> 64));
	put(pack, times->nr_largest);
	for (uint32_t i = 0; i < times->nr_largest; i++)
		put(pack, i ? times->largest_ns[i - 1] - times->largest_ns[i] :
			      times->largest_ns[0]);
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++)
		used += !!times->hist[i];
	put(pack, used);
	for (uint32_t i = 0; i < PERFGUARD_HIST_BUCKETS; i++) {
		if (!times->hist[i])
			continue;
		put(pack, i - next);
		put(pack, times->hist[i]);
		next = i + 1;
	}
}

struct unpacking {
	const uint8_t *at;
	const uint8_t *end;
	bool has_failed;
};

static uint64_t get(struct unpacking *reader, uint64_t max)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;

		if (shift == 63 && byte > 1)
			break;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		/* One form for each number: no zeros on top. */
		if ((shift && !byte) || number > max)
			break;
		return number;
	}
	reader->has_failed = true;
	return 0;
}

/* A length, limited by the bytes left at @each bytes an entry. */
static uint32_t get_nr(struct unpacking *reader, size_t each)
{
	return (uint32_t)get(reader, (uint64_t)(reader->end - reader->at) / each);
}

static int finish(const struct unpacking *reader)
{
	return reader->has_failed || reader->at != reader->end ? -EBADMSG : 0;
}

int unpack_rising(const uint8_t *bytes, size_t len, uint32_t **ret, uint32_t *ret_nr)
{
	struct unpacking reader = { .at = bytes, .end = bytes + len };
	uint32_t nr = get_nr(&reader, 1), *numbers;

	numbers = calloc(nr + 1u, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && !reader.has_failed; i++) {
		uint32_t last = i ? numbers[i - 1] : 0;

		numbers[i] = last + (uint32_t)get(&reader, UINT32_MAX - last);
	}
	*ret = numbers;
	*ret_nr = nr;
	return finish(&reader);
}

int unpack_hits(const uint8_t *bytes, size_t len, bool has_counts, struct samples_hit **ret,
		uint32_t *ret_nr)
{
	struct unpacking reader = { .at = bytes, .end = bytes + len };
	uint32_t nr = get_nr(&reader, has_counts ? 3 : 2);
	struct samples_hit *hits;

	hits = calloc(nr + 1u, sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && !reader.has_failed; i++) {
		uint32_t count;

		hits[i].function = (uint32_t)get(&reader, UINT32_MAX);
		hits[i].depth = (uint32_t)get(&reader, UINT32_MAX);
		if (!has_counts)
			continue;
		count = (uint32_t)get(&reader, 4 * UINT16_MAX + 3);
		hits[i].count = (uint16_t)(count / 4);
		hits[i].quarter = count % 4;
	}
	*ret = hits;
	*ret_nr = nr;
	return finish(&reader);
}

int unpack_times(const uint8_t *bytes, size_t len, struct samples_times *ret)
{
	struct unpacking reader = { .at = bytes, .end = bytes + len };
	uint32_t used, next = 0;

	memset(ret, 0, sizeof(*ret));
	ret->nr = get(&reader, UINT64_MAX);
	ret->sum_ns = get(&reader, UINT64_MAX);
	ret->sum_squares = get(&reader, UINT64_MAX);
	ret->sum_squares |= (unsigned __int128)get(&reader, UINT64_MAX) << 64;
	ret->nr_largest = (uint32_t)get(&reader, SAMPLES_NR_LARGEST);
	for (uint32_t i = 0; i < ret->nr_largest; i++) {
		uint64_t last = i ? ret->largest_ns[i - 1] : UINT64_MAX;
		uint64_t number = get(&reader, last);

		ret->largest_ns[i] = i ? last - number : number;
	}
	used = (uint32_t)get(&reader, PERFGUARD_HIST_BUCKETS);
	for (uint32_t i = 0; i < used && !reader.has_failed; i++) {
		next += (uint32_t)get(&reader, PERFGUARD_HIST_BUCKETS);
		if (next >= PERFGUARD_HIST_BUCKETS)
			return -EBADMSG;
		ret->hist[next] = get(&reader, UINT64_MAX);
		if (!ret->hist[next++])
			return -EBADMSG;
	}
	return finish(&reader);
}
