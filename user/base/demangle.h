/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C++ names as they are written in C++.
 */
#ifndef _USER_BASE_DEMANGLE_H
#define _USER_BASE_DEMANGLE_H

/* Load what demangle() needs, which it does by itself unless this process may not then. */
void demangle_load(void);

/*
 * The readable form of @name without its parameters, as malloc'ed text that
 * the caller frees; NULL if @name is no C++ name, or cannot be demangled.
 */
char *demangle(const char *name);

#endif /* _USER_BASE_DEMANGLE_H */
