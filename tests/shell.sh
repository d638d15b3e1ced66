# What test scripts share; sourced, not run: where they lie, a folder that goes when they end, and how they say what came out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ok() { printf 'ok  %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
