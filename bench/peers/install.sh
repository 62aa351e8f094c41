#!/usr/bin/env bash
# Prepares the systems that `./dev bench peers` measures beside ours: pinned versions from their package registries,
# by the clients that the machine has.
#
#   install.sh <folder>      <folder>/<peer>/run is then the program of each; <folder>/<peer>/skipped says why there is none
#
# A peer that is there in this version is left as it is. One that can't be prepared does not stop the others.
set -euo pipefail
sources=$(dirname "$(readlink -f "$0")")
folder=$(mkdir -p "${1:?a folder for them}" && readlink -f "$1")
jobs=${HOLDFAST_JOBS:-$(nproc)}

# Not more than this for each.
limit=3600

# starter <peer> <word>...: makes its program. It sees no network but the loopback of its own: what is measured needs
# no other, and some peers would look for news of themselves.
starter() {
  local peer=$1
  shift
  set -- unshare --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh "$@"
  { printf '#!/bin/sh\nexec'; printf " '%s'" "$@"; printf ' "$@"\n'; } >"$folder/$peer/run.new"
  chmod +x "$folder/$peer/run.new"
  mv "$folder/$peer/run.new" "$folder/$peer/run"
}

requires() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "there is no $program on this machine"; return 1; }
  done
}

# Each says what goes wrong.
prepare_duroxide() {
  requires cargo cc || return 1
  cp -r "$sources/duroxide/Cargo.toml" "$sources/duroxide/src" "$folder/duroxide/" || return 1
  cargo build --release -j "$jobs" --manifest-path "$folder/duroxide/Cargo.toml" --target-dir "$folder/duroxide/target" || return 1
  # It would log to its standard output.
  starter duroxide env RUST_LOG=off "$folder/duroxide/target/release/peer_duroxide"
}

prepare_dbos() {
  requires python3 || return 1
  python3 -m venv --clear "$folder/dbos/venv" || return 1
  "$folder/dbos/venv/bin/pip" install --disable-pip-version-check -r "$sources/dbos/requirements.txt" || return 1
  starter dbos "$folder/dbos/venv/bin/python" "$sources/dbos/peer.py"
}

prepare_temporal() {
  requires go || return 1
  go build -C "$sources/temporal" -p "$jobs" -buildvcs=false -o "$folder/temporal/peer_temporal" . || return 1
  starter temporal "$folder/temporal/peer_temporal"
}

# Its SDK needs a newer node than distributions have, which is one of the pinned packages.
prepare_restate() {
  requires npm setpriv || return 1
  cp "$sources/restate/package.json" "$sources/restate/package-lock.json" "$sources/restate/peer.js" "$folder/restate/" || return 1
  npm ci --prefix "$folder/restate" --ignore-scripts --no-audit --no-fund || return 1
  local node
  node=$(find "$folder/restate/node_modules" -path '*/node-linux-*/bin/node' -type f | head -n 1)
  [ -n "$node" ] || { echo "there is no package of node for this machine"; return 1; }
  starter restate "$node" "$folder/restate/peer.js"
}

# why <log>: the last error in it, or its last line.
why() {
  local line
  line=$(grep -iE 'error|fail|there is no' "$1" | grep -v 'complete log' | tail -n 1 || true)
  [ -n "$line" ] || line=$(grep -v '^ *$' "$1" | tail -n 1 || true)
  echo "${line:-the installation failed and said nothing}" | cut -c 1-200
}

requires unshare ip || { echo "the peers need unshare and ip (util-linux, iproute2)"; exit 1; }

export -f starter requires prepare_duroxide prepare_dbos prepare_temporal prepare_restate
export sources folder jobs

for peer in duroxide dbos temporal restate; do
  mkdir -p "$folder/$peer"
  version=$(cd "$sources" && find "$peer" -type f -print0 | sort -z | xargs -0 sha256sum install.sh | sha256sum)
  if [ -x "$folder/$peer/run" ] && [ "$(cat "$folder/$peer/version" 2>/dev/null)" = "$version" ]; then continue; fi
  echo "$peer: installing (log: $folder/$peer/install.log)"
  rm -f "$folder/$peer/run" "$folder/$peer/skipped"
  if timeout "$limit" bash -c "prepare_$peer" >"$folder/$peer/install.log" 2>&1; then
    echo "$version" >"$folder/$peer/version"
  else
    why "$folder/$peer/install.log" >"$folder/$peer/skipped"
    echo "$peer: skipped, $(cat "$folder/$peer/skipped")"
  fi
done
