#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A day of alerts, as many as are usual, through the service's outputs: none is lost, all are counted,
# and the page of it is small.
exec "${PYTHON:-python3}" -B "${0%/*}/../eval/day.py" --check
