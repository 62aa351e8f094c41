#!/usr/bin/env bash
# A throw-away PostgreSQL server for tests and benchmarks. It lives in a temporary folder, listens on a socket there and
# nowhere else, and goes when it is told to, or when the process that it belongs to is gone.
#
#   server.sh start <state> [--watch <pid>] [--durable]   returns when it answers; <state>/uri says where
#   server.sh stop <state>                                returns when it is gone, with its files
#   server.sh restart <state> [fast|immediate]            stops it, as a crash does if `immediate`, and starts it again
#   server.sh halt <state> [fast|immediate]               stops it, and keeps its files
#   server.sh resume <state>                              starts it again
#   server.sh standby <state> <primary> [--watch <pid>]   another server, which follows the one of the state <primary>
#   server.sh promote <state>                             returns when the standby takes writes
#
# --watch: the process that it belongs to; who called this otherwise. --durable: commits wait for the disk.
# HOLDFAST_POSTGRES_SETTINGS: more arguments of the server ("-c work_mem=8MB").
set -euo pipefail

die() { printf 'server.sh: %s\n' "$*" >&2; exit 1; }

binaries() {
  local found
  found=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1 || true)
  [ -x "$found/initdb" ] || found=$(dirname "$(command -v initdb || echo /none/initdb)")
  [ -x "$found/initdb" ] || die "there is no PostgreSQL server on this machine, and tests of the PostgreSQL store need one: install the Debian package postgresql"
  echo "$found"
}

# The server refuses to run as root.
unprivileged() {
  if [ "$(id -u)" -ne 0 ]; then "$@"; else setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups "$@"; fi
}
if [ "$(id -u)" -ne 0 ]; then user=$(id -un); elif id postgres >/dev/null 2>&1; then user=postgres; else user=nobody; fi

launch() {
  local folder=$1 durable=$2 bin
  bin=$(binaries)
  local settings=(-c listen_addresses= -c unix_socket_directories="$folder" -c max_connections=300 -c shared_buffers=128MB
    -c max_prepared_transactions=0 -c log_min_messages=warning -c wal_level=replica -c max_wal_senders=4)
  read -r -a more <<<"${HOLDFAST_POSTGRES_SETTINGS:-}"
  settings+=("${more[@]}")
  if [ "$durable" = no ]; then settings+=(-c fsync=off -c synchronous_commit=off -c full_page_writes=off); fi
  # Nothing of it holds on to what this was called with: whoever reads our output would wait for the server's end.
  (cd "$folder" && unprivileged "$bin/postgres" -D "$folder/data" "${settings[@]}") </dev/null >>"$folder/log" 2>&1 &
  for _ in $(seq 300); do
    if unprivileged "$bin/pg_isready" -q -h "$folder" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  cat "$folder/log" >&2
  die "the server does not answer"
}

shut_down() {
  local folder=$1 how=$2
  [ -e "$folder/data/postmaster.pid" ] || return 0
  unprivileged "$(binaries)/pg_ctl" -D "$folder/data" -m "$how" -w stop >/dev/null 2>&1 || true
}

# prepare <state>: a folder for a server, in $folder.
prepare() {
  rm -rf "$1"
  mkdir -p "$1"
  folder=$(mktemp -d /tmp/holdfast-postgres-XXXXXX)
  chown "$user" "$folder"
}

# keep <state> <durable> <pid>: notes what there is, and lets it go with that process.
keep() {
  local state=$1
  echo "$folder" >"$state/folder"
  echo "$2" >"$state/durable"
  # shellcheck disable=SC2016  # the inner shell expands them
  setsid bash -c 'while kill -0 "$1" 2>/dev/null && [ -e "$2/folder" ]; do sleep 0.5; done; exec "$0" stop "$2"' "$self" "$3" "$state" >/dev/null 2>&1 </dev/null &
  echo "host=$folder user=holdfast dbname=postgres" >"$state/uri"
}

start() {
  local state=$1 watched=$PPID durable=no folder bin
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --watch) watched=$2; shift 2 ;;
      --durable) durable=yes; shift ;;
      *) die "start does not take '$1'" ;;
    esac
  done
  bin=$(binaries)
  prepare "$state"
  (cd "$folder" && unprivileged "$bin/initdb" -D "$folder/data" -U holdfast --auth=trust --no-sync -E UTF8 --locale=C >"$folder/log" 2>&1) ||
    { cat "$folder/log" >&2; rm -rf "$folder"; die "initdb failed"; }
  launch "$folder" "$durable"
  keep "$state" "$durable" "$watched"
}

# It has the durability of its primary.
standby() {
  local state=$1 primary=$2 watched=$PPID folder source
  [ "${3:-}" = --watch ] && watched=$4
  source=$(cat "$primary/folder")
  prepare "$state"
  (cd "$folder" && unprivileged "$(binaries)/pg_basebackup" -h "$source" -U holdfast -D "$folder/data" -R -X stream --checkpoint=fast --no-sync >"$folder/log" 2>&1) ||
    { cat "$folder/log" >&2; rm -rf "$folder"; die "pg_basebackup failed"; }
  launch "$folder" "$(cat "$primary/durable")"
  keep "$state" "$(cat "$primary/durable")" "$watched"
}

promote() {
  local folder
  folder=$(cat "$1/folder")
  unprivileged "$(binaries)/pg_ctl" -D "$folder/data" -w promote >/dev/null || die "the standby can't be promoted"
}

stop() {
  local state=$1 folder
  folder=$(cat "$state/folder" 2>/dev/null) || return 0
  shut_down "$folder" immediate
  rm -rf "$folder" "$state"
}

halt() { shut_down "$(cat "$1/folder")" "${2:-fast}"; }
resume() { launch "$(cat "$1/folder")" "$(cat "$1/durable")"; }
restart() {
  halt "$@"
  resume "$1"
}

self=$(readlink -f "$0")
command=${1:-}
shift || true
case $command in
  start | stop | restart | halt | resume | standby | promote) "$command" "$@" ;;
  *) sed -n '2,15p' "$self"; exit 2 ;;
esac
