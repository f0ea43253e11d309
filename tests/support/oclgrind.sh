#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test program with its OpenCL kernels interpreted by Oclgrind, which reports accesses out of bounds and races between
# work-items; any report is a failure. 77 says that Oclgrind is not installed.
command -v oclgrind >/dev/null || {
  echo "oclgrind is not installed: no kernel is checked for races and bounds"
  exit 77
}
log=$(mktemp)
TYTO_OPENCL_DEVICE=oclgrind TYTO_CACHE_DIR="" oclgrind --data-races --log "$log" "$@"
status=$?
if [ -s "$log" ]; then
  cat "$log"
  echo "oclgrind.sh: oclgrind found faults in kernels"
  status=1
fi
rm -f "$log"
exit "$status"
