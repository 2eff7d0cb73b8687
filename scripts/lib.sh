# lib.sh: what the scripts share. Source it; it runs nothing by itself.
# shellcheck shell=bash

repo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit "${2:-2}"
}

have() { command -v "$1" >/dev/null 2>&1; }

# as_root COMMAND...: runs it as root, through sudo if need be; fails without asking for a password in a pipe.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo; then
    if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
  else
    return 1
  fi
}

# Debian and Ubuntu packages a build needs, and what shows that each is there.
build_packages=(g++ cmake ninja-build git libsqlite3-dev libfmt-dev libcli11-dev nlohmann-json3-dev libboost-math-dev libtomlplusplus-dev libre2-dev zlib1g-dev)
test_packages=(libgtest-dev sqlite3 python3 python3-venv dpkg-dev)
# Parsers that the formats of reports and exports are held against (tests/formats, tests/exports).
format_packages=(python3-junitparser python3-prometheus-client python3-jsonschema python3-markdown-it python3-html5lib python3-yaml libxml2-utils protobuf-compiler librsvg2-bin)
# The desktop program: built where these are. Without a font its pictures would be boxes.
gui_packages=(qt6-base-dev qt6-svg-dev libgl-dev fonts-dejavu-core)
# What tests are built with where it is there, in half the time: another linker, and a compiler for the build under the sanitizers.
quick_packages=(lld clang libclang-rt-dev)
# An X server without a screen, for the tests of the program in a real window (tests/gui/real_window_test.sh).
gui_test_packages=(xvfb)
# What scripts/lint wants besides clang-tidy.
lint_packages=("${build_packages[@]}" "${test_packages[@]}" "${gui_packages[@]}" clang-format)

package_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# A compiler, CMake or Ninja that did not come as a package serves as well.
requirement_met() {
  case "$1" in
    g++) have g++ && g++ -x c++ -std=c++20 -fsyntax-only /dev/null 2>/dev/null ;;
    cmake) have cmake ;;
    ninja-build) have ninja ;;
    git) have git ;;
    sqlite3) have sqlite3 ;;
    python3) have python3 ;;
    lld) have ld.lld ;;
    clang) have clang++ ;;
    libclang-rt-dev) can_sanitize clang++ 2>/dev/null ;;
    librsvg2-bin) have rsvg-convert ;;
    clang-format) have clang-format || have clang-format-14 ;;
    clang-tidy) have run-clang-tidy && have clang-tidy ;;
    *) package_installed "$1" ;;
  esac
}

# install_missing PACKAGE...: installs what is not there; where that is not possible, lists it and exits 4.
install_missing() {
  local missing=() package
  for package in "$@"; do requirement_met "$package" || missing+=("$package"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  step "Installing ${missing[*]}"
  if have apt-get && as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
    return 0
  fi
  say "These packages are missing and could not be installed from here. As root:" >&2
  say "  apt-get install ${missing[*]}" >&2
  exit 4
}

# install_wanted PACKAGE...: installs what is not there; goes on without what cannot be installed.
install_wanted() {
  local package
  for package in "$@"; do
    requirement_met "$package" || (install_missing "$package") >/dev/null 2>&1 || say "Going on without $package, which takes longer."
  done
}

# can_sanitize COMPILER: a program with an error of memory is built under the sanitizers and must not end well. Says why not.
can_sanitize() {
  local folder status=1
  folder=$(mktemp -d)
  printf 'int main(int n, char**) { int* p = new int[1]; p[n] = n; delete[] p; }\n' >"$folder/a.cpp"
  if "$1" -fsanitize=address,undefined -o "$folder/a" "$folder/a.cpp" 2>"$folder/said"; then
    "$folder/a" >"$folder/said" 2>&1 || { grep -q AddressSanitizer "$folder/said" && status=0; }
  fi
  [ "$status" -eq 0 ] || cat "$folder/said" >&2
  rm -rf "$folder"
  return "$status"
}

# sanitizing_compiler: Clang from 14 on where its sanitizers are there, for it takes half of GCC's time for what is not optimised; else GCC.
sanitizing_compiler() {
  local version
  version=$(clang++ -dumpversion 2>/dev/null | cut -d. -f1) || true
  if [ "${version:-0}" -ge 14 ] && can_sanitize clang++ 2>/dev/null; then echo clang++; else echo g++; fi
}

# keep_compiler BUILD_DIR COMPILER: CMake cannot change the compiler of a build folder, so that one with another begins anew.
keep_compiler() {
  local had
  had=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$1/CMakeCache.txt" 2>/dev/null) || true
  [ -z "$had" ] || [ "$(basename "$had")" = "$2" ] || rm -rf "$1/CMakeCache.txt" "$1/CMakeFiles"
}

# CUDA's compiler: on the PATH, in CUDA_HOME, or in the usual place. Prints its path, or nothing.
find_nvcc() {
  local candidate
  for candidate in "$(command -v nvcc || true)" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
}

# fast_kernels: what makes nvcc compile kernels faster than well, from CUDA 12.9 on; before, nothing.
fast_kernels() {
  local nvcc
  nvcc=$(find_nvcc)
  [ -n "$nvcc" ] || return 0
  case "$("$nvcc" --help)" in *-Ofc*) printf ' -Ofc=max' ;; esac
}

# fast_host: what makes GCC compile faster at the price of memory: a tenth of its time for a file of many sources is the collection of its
# garbage, which begins at 4 GiB here instead of at 128 MiB. The code is the same. Of another compiler nothing.
fast_host() {
  case "$("${CXX:-c++}" -v 2>&1)" in *"gcc version"*) printf ' --param=ggc-min-expand=1000 --param=ggc-min-heapsize=4194304' ;; esac
}

# large_pages COMMAND...: with memory of the C library's malloc in pages of 2 MiB where the kernel gives them to who asks. Clang, which takes
# hundreds of megabytes for a file of many sources, is a sixth faster with it. GCC has memory of its own, and a sanitizer another malloc.
large_pages() {
  GLIBC_TUNABLES="${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.malloc.hugetlb=1" "$@"
}

# True if the driver answers and shows a device. The driver's tool, not CUDA: no toolkit is needed to ask.
have_gpu() {
  local smi
  smi=$(command -v nvidia-smi || { [ -x /usr/local/nvidia/bin/nvidia-smi ] && echo /usr/local/nvidia/bin/nvidia-smi; })
  [ -n "$smi" ] && "$smi" -L 2>/dev/null | grep -q '^GPU '
}

# Where cuDNN, cuBLAS and CUPTI may live when they came with Python packages or the toolkit. Appended, so that
# what the user has set comes first.
add_cuda_library_paths() {
  local directory paths=()
  for directory in /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64; do
    [ -d "$directory" ] && paths+=("$directory")
  done
  if have python3; then
    while IFS= read -r directory; do paths+=("$directory"); done < <(python3 - <<'PY' 2>/dev/null
import glob, sys
for root in sys.path:
    for directory in sorted(glob.glob(root + "/nvidia/*/lib")):
        print(directory)
PY
    )
  fi
  for directory in "${paths[@]}"; do
    case ":${LD_LIBRARY_PATH:-}:" in
      *":$directory:"*) ;;
      *) LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$directory" ;;
    esac
  done
  export LD_LIBRARY_PATH
}

# show_progress PID LOG: how far Ninja is, each quarter of a minute, until the process ends.
show_progress() {
  local began=$SECONDS shown=0 at
  while kill -0 "$1" 2>/dev/null; do
    sleep 1
    if [ $((SECONDS - began - shown)) -ge 15 ]; then
      shown=$((SECONDS - began))
      at=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$2" | tail -n 1 | tr -d '[]') || true  # nothing is built yet
      [ -z "$at" ] || printf '   %d:%02d  %s of %s\n' $((shown / 60)) $((shown % 60)) "${at%/*}" "${at#*/}"
    fi
  done
}

# configure_and_build BUILD_DIR [cmake arguments...] [-- TARGET...]: Release build with Ninja; of the targets that there are, or of
# everything.
configure_and_build() {
  local build=$1 log options=() targets=() known
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  log=$(mktemp)
  step "Configuring $build"
  if ! cmake -S "$repo_root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "the configuration failed: the message above names what is missing" 4
  fi
  grep -E '^--   ' "$log" || true
  if [ $# -gt 0 ]; then
    known=$(ninja -C "$build" -t targets all)
    for target in "$@"; do
      if grep -q "^$target: phony" <<<"$known"; then targets+=("$target"); fi
    done
  fi
  step "Building${targets[*]:+ ${targets[*]}}"
  if [ -t 1 ]; then
    ninja -C "$build" "${targets[@]}" || die "the build failed" 5
  else
    NINJA_STATUS='[%f/%t] ' ninja -C "$build" "${targets[@]}" >"$log" 2>&1 &
    local ninja=$!
    show_progress "$ninja" "$log"
    if ! wait "$ninja"; then
      tail -n 60 "$log" >&2
      rm -f "$log"
      die "the build failed" 5
    fi
  fi
  rm -f "$log"
}
