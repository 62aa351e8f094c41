#!/usr/bin/env bash
# Builds and runs tests/packaging/consumer as users of Holdfast do.
#
#   run.sh <source dir> <compiler> <work dir> [way]...
#
# Ways: fetch_content find_package pkg_config moved_prefix shared docs; all of them when none is named. The first builds the
# library as a part of its program, and those behind it install what it has built. Each of these works in a folder of its own
# below the work folder, which is left behind only when it fails.
set -euo pipefail

[ $# -ge 3 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
source=$(realpath "$1") compiler=$2 work=$(mkdir -p "$3" && realpath "$3")
shift 3
built=$work/built   # the program that fetches the library; stays, for the ways that install it
library=$built/_deps/holdfast-build
here=$source/tests/packaging
strict='-Wall -Wextra -Werror'
# Few big files: what is tested is how the library is put together, and each build of it takes most of the time.
few_files=-DCMAKE_UNITY_BUILD_BATCH_SIZE=40
launcher=$(command -v ccache || true)

die() { printf 'packaging: %s\n' "$*" >&2; exit 1; }

# quietly <command>...: its output is shown only when it fails.
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; die "failed: $*"; }; }

# configure_and_build <source> <build> [option]...
configure_and_build() {
  quietly cmake -S "$1" -B "$2" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" "${@:3}"
  quietly cmake --build "$2" -j "$(nproc)"
}

# install_to <prefix>: the library.
install_to() { quietly cmake --install "$library" --prefix "$1"; }

# build_by_fetch_content [option]...: the program, and the library as a part of it, ready to be installed.
build_by_fetch_content() {
  configure_and_build "$here/fetch_content" "$built" -DHOLDFAST_CHECKOUT="$source" -DCMAKE_CXX_FLAGS="$strict" "$few_files" \
    -DHOLDFAST_INSTALL=ON -DHOLDFAST_BUILD_POSTGRES=ON "$@"
}

# build_by_find_package <prefix> <app folder>: headers are not taken as system headers, so that warnings in them count.
build_by_find_package() {
  configure_and_build "$here/find_package" "$2" -DCMAKE_PREFIX_PATH="$1" -DCMAKE_CXX_FLAGS="$strict" -DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON
  grep -q "^holdfast_DIR:PATH=$1/" "$2/CMakeCache.txt" || die "find_package found another Holdfast than the one in $1"
}

# build_by_pkg_config <prefix> <app folder> [pkg-config option]...
build_by_pkg_config() {
  mkdir -p "$2"
  compile_by_pkg_config "$1" holdfast main.cpp "$2/app" "${@:3}"
  compile_by_pkg_config "$1" holdfast-testkit app_test.cpp "$2/app_test" "${@:3}"
}

# compile_by_pkg_config <prefix> <package> <source> <program> [pkg-config option]...
compile_by_pkg_config() {
  local flags pc
  pc=$(find "$1" -name holdfast.pc)
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs "${@:5}" "$2")
  # shellcheck disable=SC2086 # flags and launcher are lists of words
  quietly $launcher "$compiler" -std=c++20 $strict "$here/consumer/$3" -o "$4" $flags
}

# check_output <folder of the programs>: what the program and its test print.
check_output() {
  local version
  version=$(sed -n 's/^#define HOLDFAST_VERSION "\(.*\)"$/\1/p' "$source/include/holdfast/version.hpp")
  expect_output "$1/app" "Holdfast $version
{\"id\":\"o1\",\"items\":[{\"sku\":\"x\",\"quantity\":2,\"size\":\"large\"}],\"prices\":{\"x\":0.5},\"note\":null}
2
items[0].quantity: expected integer, found string \"x\"
caught: activity charge failed: no funds"
  expect_output "$1/app_test" "Hello, Ada!"
}

# expect_output <program> <text>
expect_output() {
  local actual
  actual=$("$1")
  [ "$actual" = "$2" ] || die "$1 printed:"$'\n'"$actual"$'\n'"and not:"$'\n'"$2"
}

# ---- the ways -----------------------------------------------------------------------------------------------

way_fetch_content() {
  build_by_fetch_content -DBUILD_SHARED_LIBS=OFF
  check_output "$built"
}

way_find_package() {
  install_to "$folder/prefix"
  build_by_find_package "$folder/prefix" "$folder/app"
  check_output "$folder/app"
}

way_pkg_config() {
  install_to "$folder/prefix"
  build_by_pkg_config "$folder/prefix" "$folder/app" --static
  check_output "$folder/app"
}

way_shared() {
  build_by_fetch_content -DBUILD_SHARED_LIBS=ON
  install_to "$folder/prefix"
  build_by_find_package "$folder/prefix" "$folder/app"
  check_output "$folder/app"
  build_by_pkg_config "$folder/prefix" "$folder/plain"
  LD_LIBRARY_PATH=$(dirname "$(find "$folder/prefix" -name libholdfast.so)") check_output "$folder/plain"
}

way_moved_prefix() {
  install_to "$folder/prefix"
  mkdir "$folder/elsewhere"
  mv "$folder/prefix" "$folder/elsewhere/moved"
  ! grep -rIl -e "$folder" -e "$built" -e "$source" "$folder/elsewhere/moved" >"$folder/log" ||
    die "these installed files name a folder of the machine that built them:"$'\n'"$(cat "$folder/log")"
  build_by_find_package "$folder/elsewhere/moved" "$folder/app"
  check_output "$folder/app"
  build_by_pkg_config "$folder/elsewhere/moved" "$folder/plain" --static
  check_output "$folder/plain"
}

# The page quotes the files that are tested here, word for word.
way_docs() {
  local page file
  page=$(<"$source/docs/using-in-your-build.md")
  for file in find_package/CMakeLists.txt fetch_content/CMakeLists.txt; do
    [[ $page == *"$(sed 's#\.\./consumer/##' "$here/$file")"* ]] || die "docs/using-in-your-build.md does not show $file as it is"
  done
}

[ $# -gt 0 ] || set -- fetch_content find_package pkg_config moved_prefix shared docs
for way in "$@"; do
  declare -F "way_$way" >/dev/null || die "there is no way called '$way'"
  folder=$work/$way
  rm -rf "$folder"
  mkdir "$folder"
  "way_$way"
  rm -rf "$folder"
done
