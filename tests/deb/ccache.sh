# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# How compilers are run in tests/deb/guest and, before, in tests/deb/fill-ccache: by ccache, whose
# files are in /run/ccache.  A header of the same time and size is the same one.  What else ccache
# compares is set here, so that both have the same.

export PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 LC_ALL=C.UTF-8
export CCACHE_DIR=/run/ccache CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=file_stat_matches,file_stat_matches_ctime,include_file_ctime,include_file_mtime
