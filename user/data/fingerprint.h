/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is kept of a file's code, to find its functions in another build of it when the file
 * itself is gone: of each function its length, hashes of its code and of its form, and what
 * it refers to, in the order of its code.  Plain data; it is packed into bytes in profiles and
 * traces, and on the way from a helper.
 */
#ifndef _USER_DATA_FINGERPRINT_H
#define _USER_DATA_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FINGERPRINT_NO_FRAME = UINT32_MAX,
	FINGERPRINT_MAX_FUNCTIONS = 1 << 22,
	FINGERPRINT_MAX_REFS = 1 << 25,
	/* Packed; of a program of 25 MiB they are 3. */
	FINGERPRINT_MAX_BYTES = 1 << 26,
};

enum fingerprint_kind {
	FINGERPRINT_CALL, /* of a function of the file; value is its number */
	FINGERPRINT_JUMP, /* likewise: a tail call */
	FINGERPRINT_CODE, /* its address is taken */
	FINGERPRINT_IMPORT, /* a call of another file's function; value is a hash of its name */
	FINGERPRINT_INDIRECT, /* a call of what is not known */
	FINGERPRINT_SYSCALL,
	FINGERPRINT_STRING, /* value is a hash of it */
	FINGERPRINT_NR_KINDS,
};

struct fingerprint_ref {
	uint64_t end; /* in the file, behind the instruction: where a call returns to */
	uint32_t value;
	uint32_t frame; /* SP at entry less SP there, bytes; FINGERPRINT_NO_FRAME */
	enum fingerprint_kind kind;
};

struct fingerprint {
	uint64_t offset; /* in the file; of the data, that of the last function */
	uint64_t code; /* hash of its bytes without addresses */
	uint64_t shape; /* of its operations, without operands */
	uint32_t name; /* hash of the name that the file has for it; 0: none */
	uint32_t size; /* bytes */
	uint32_t nr_insns;
	uint32_t nr_branches;
	uint32_t first_ref;
	uint32_t nr_refs;
};

/* By rising offset; then one for the data, which refers to functions by tables of them. */
struct fingerprints {
	struct fingerprint *functions;
	struct fingerprint_ref *refs; /* of the functions, one after the other */
	uint32_t nr; /* with that of the data; 0: nothing is known */
	uint32_t nr_refs;
};

void fingerprints_deinit(struct fingerprints *prints);

/* The function that begins at @offset, or UINT32_MAX. */
uint32_t fingerprints_find(const struct fingerprints *prints, uint64_t offset);

/* A hash of a name that is never 0. */
uint32_t fingerprint_name(const char *name);

/* @ret is the caller's to free.  Returns 0 or -ENOMEM. */
int fingerprints_pack(const struct fingerprints *prints, uint8_t **ret, uint32_t *ret_size);

/* The bytes may be a stranger's.  Returns 0, -EBADMSG if they are no fingerprints, or -ENOMEM. */
int fingerprints_unpack(const uint8_t *bytes, uint32_t size, struct fingerprints *ret);

#endif /* _USER_DATA_FINGERPRINT_H */
