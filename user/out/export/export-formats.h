/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who writes which format.  Each returns 0 or -ENOMEM.
 */
#ifndef _USER_OUT_EXPORT_EXPORT_FORMATS_H
#define _USER_OUT_EXPORT_EXPORT_FORMATS_H

#include <stdio.h>

struct incidents;

int export_folded(FILE *file, const struct incidents *incidents);
int export_pprof(FILE *file, const struct incidents *incidents);
int export_perfetto(FILE *file, const struct incidents *incidents);

#endif /* _USER_OUT_EXPORT_EXPORT_FORMATS_H */
