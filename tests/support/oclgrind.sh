#!/bin/sh
# Runs a test program with its OpenCL kernels interpreted by Oclgrind, which reports accesses out of bounds and races between
# work-items; any report is a failure. 77 says that Oclgrind is not installed. With --bounds first, races are not looked for:
# items of joined launches wait for each other by atomic counters, an order that Oclgrind does not know.
races=--data-races
if [ "$1" = --bounds ]; then
  races=""
  shift
fi
command -v oclgrind >/dev/null || {
  echo "oclgrind is not installed: no kernel is checked for races and bounds"
  exit 77
}
log=$(mktemp)
# shellcheck disable=SC2086 # an option or none
TYTO_OPENCL_DEVICE=oclgrind TYTO_CACHE_DIR="" oclgrind $races --log "$log" "$@"
status=$?
if [ -s "$log" ]; then
  cat "$log"
  echo "oclgrind.sh: oclgrind found faults in kernels"
  status=1
fi
rm -f "$log"
exit "$status"
