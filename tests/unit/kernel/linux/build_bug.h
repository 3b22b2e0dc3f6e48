/* SPDX-License-Identifier: GPL-2.0 */
/* The C library's is the compiler's own. */
#ifndef _PGUARD_TEST_BUILD_BUG_H
#define _PGUARD_TEST_BUILD_BUG_H

#include <assert.h>

#endif /* _PGUARD_TEST_BUILD_BUG_H */
