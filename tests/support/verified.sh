#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test program with every run of a graph verified (TYTO_VERIFY), and sees to it that there were some.
said=$(TYTO_VERIFY=1 "$@" 2>&1)
status=$?
printf '%s\n' "$said"
[ "$status" -eq 0 ] || exit "$status"
case $said in
  *"verified: "[1-9]*) ;;
  *) echo "verified.sh: no run was verified" && exit 1 ;;
esac
