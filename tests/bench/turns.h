/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that run one at a time; the others sleep. */
#ifndef _PGUARD_TURNS_H
#define _PGUARD_TURNS_H

#include <stdint.h>

/* All end the program with a message if they fail. */

void turns_begin(uint32_t nr_threads);
/* Returns when thread number @thread has done @what. */
void turns_take(uint32_t thread, void (*what)(void *argument), void *argument);
void turns_end(void);

#endif /* _PGUARD_TURNS_H */
