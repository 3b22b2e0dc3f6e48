/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From netlink attributes to plain structures, by the tables in link-policy.c.
 */
#ifndef _USER_LINK_DECODE_H
#define _USER_LINK_DECODE_H

#include <stdbool.h>
#include <stdint.h>

struct nlattr;

/* Where an attribute is stored; tables of them end with attr 0. */
struct decode_field {
	uint16_t attr;
	uint8_t type; /* NLA_FLAG, NLA_STRING; others are copied */
	bool is_pointer; /* a string to be freed, not an array */
	uint32_t offset;
	uint32_t size;
};

/*
 * Store attributes in @object, which keeps its values where there is no
 * attribute.  Unknown attributes are skipped; -EBADMSG for one that is too short.
 */
int decode_attrs(const struct decode_field *fields, struct nlattr *attrs, int len,
		 void *object);
int decode_nested(const struct decode_field *fields, struct nlattr *nest, void *object);

/* Number of attributes @type. */
uint32_t decode_count(struct nlattr *attrs, int len, int type);

/* The attribute's value; 0 without it, or if it is too short. */
uint32_t decode_u32(const struct nlattr *attr);

#endif /* _USER_LINK_DECODE_H */
