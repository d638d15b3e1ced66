# Shared by test scripts; sourced, not run: their place, a folder that is removed at their end, and their messages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# For programs in C: what the language leaves undefined ends them.
# shellcheck disable=SC2034
undefined=(-fsanitize=undefined -fno-sanitize-recover=all)
ok() { printf 'ok  %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
