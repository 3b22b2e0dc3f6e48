#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The module's tests, on Linux 6.1; but those that take long of what pg-collect alone makes of the
# module's events, which is the same on each kernel.

cd "${0%/*}" || exit
GLOBIGNORE=guest/37-train.py:guest/85-watch.py
tests=(guest/[0-9]*.py)
exec ./module 6.1 "${tests[@]##*/}"
