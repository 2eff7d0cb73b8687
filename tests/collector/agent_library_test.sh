#!/bin/sh
# The agent lives in other people's processes: it shows what CUDA, NVTX and NCCL ask for, stays where it is loaded, and
# needs the C library alone, so that no SQLite, protobuf or C++ runtime of theirs can meet one of ours.
# usage: agent_library_test.sh LIBRARY
set -eu
library=$1
shown=$(nm -D --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
if [ "$shown" != "InitializeInjection InitializeInjectionNvtx2 InitializeInjectionNvtxExtension ncclProfiler_v3 ncclProfiler_v4 ncclProfiler_v5 " ]; then
  echo "$library shows: $shown"
  exit 1
fi
if ! readelf -d "$library" | grep -q NODELETE; then
  echo "$library is unloaded by whoever closes it"
  exit 1
fi
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for each in $needed; do
  case "$each" in
    libc.so.*|libm.so.*|libdl.so.*|libpthread.so.*|librt.so.*|ld-linux*) ;;
    *) echo "$library needs $each"; exit 1 ;;
  esac
done
# What it leaves open must be of the C library: an unversioned symbol could bind to the program's own. (libstdc++
# names a few of its own weakly: transactional memory, pure virtual calls.)
foreign=$(nm -D --undefined-only "$library" | awk '{print $2}' | grep -v '@' | grep -v -e '^__gmon_start__$' \
  -e '^_ITM_' -e '^_ZGT' -e '^__cxa_' || true)
if [ -n "$foreign" ]; then
  echo "$library leaves open: $foreign"
  exit 1
fi
