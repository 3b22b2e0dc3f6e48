/* SPDX-License-Identifier: GPL-2.0 */
/* The refusal of a request: an errno, and a text for its sender. */
#ifndef _KMOD_LIB_REFUSE_H
#define _KMOD_LIB_REFUSE_H

#include <linux/netlink.h>

/* Set the text; the value is the errno. */
#define pguard_refuse(extack_, errno_, text_) ({		\
	NL_SET_ERR_MSG(extack_, text_);				\
	errno_; })

/* The same, and which attribute is why. */
#define pguard_refuse_attr(extack_, attr_, errno_, text_) ({	\
	NL_SET_ERR_MSG_ATTR(extack_, attr_, text_);		\
	errno_; })

#endif /* _KMOD_LIB_REFUSE_H */
