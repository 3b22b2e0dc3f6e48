// SPDX-License-Identifier: GPL-2.0

#include "link/decode.h"

#include <errno.h>
#include <netlink/attr.h>
#include <stdlib.h>
#include <string.h>

static int decode_string(const struct decode_field *field, struct nlattr *attr, char *at)
{
	char **text = (char **)(void *)at;

	if (nla_len(attr) < 1 || ((const char *)nla_data(attr))[nla_len(attr) - 1])
		return -EBADMSG;
	if (!field->is_pointer) {
		nla_strlcpy(at, attr, field->size);
		return 0;
	}
	free(*text);
	*text = nla_strdup(attr);
	return *text ? 0 : -ENOMEM;
}

static int store(const struct decode_field *field, struct nlattr *attr, char *at)
{
	if (field->type == NLA_STRING)
		return decode_string(field, attr, at);
	if (field->type == NLA_FLAG) {
		*(bool *)at = true;
		return 0;
	}
	if (nla_len(attr) < (int)field->size)
		return -EBADMSG;
	memcpy(at, nla_data(attr), field->size);
	return 0;
}

int decode_attrs(const struct decode_field *fields, struct nlattr *attrs, int len,
		 void *object)
{
	struct nlattr *attr;
	int left, ret;

	nla_for_each_attr(attr, attrs, len, left) {
		const struct decode_field *field = fields;

		while (field->attr && field->attr != nla_type(attr))
			field++;
		ret = field->attr ? store(field, attr, (char *)object + field->offset) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

int decode_nested(const struct decode_field *fields, struct nlattr *nest, void *object)
{
	return decode_attrs(fields, nla_data(nest), nla_len(nest), object);
}

uint32_t decode_count(struct nlattr *attrs, int len, int type)
{
	struct nlattr *attr;
	uint32_t ret = 0;
	int left;

	nla_for_each_attr(attr, attrs, len, left)
		ret += nla_type(attr) == type;
	return ret;
}

uint32_t decode_u32(const struct nlattr *attr)
{
	return attr && nla_len(attr) >= (int)sizeof(uint32_t) ? nla_get_u32(attr) : 0;
}
