# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# The tests of the module that short-debug.t runs, and module-6.1.t then need not.

debug_tests=(27-samples.py 35-record.py 40-drain.py 55-profile.py 60-netlink.py 61-armed.py
	62-own-target.py 65-turns.py 66-reported.py 68-requests.py 70-taken.py 76-lives.py 78-inline.py
	78-jumps.py 78-unmapped.py 80-ring.py 95-connections.py 98-chains.py 98-datagrams.py 99-leaks.py)
