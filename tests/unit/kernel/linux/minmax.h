/* SPDX-License-Identifier: GPL-2.0 */
/* Bounds. */
#ifndef _PGUARD_TEST_MINMAX_H
#define _PGUARD_TEST_MINMAX_H

#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define clamp_t(type, value, least, most)                                       \
	((type)(value) < (type)(least) ? (type)(least) :                        \
	 (type)(value) > (type)(most)  ? (type)(most) :                         \
					 (type)(value))

#endif /* _PGUARD_TEST_MINMAX_H */
