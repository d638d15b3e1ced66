#!/usr/bin/env bash
# examples/halo_mpi.c on 1 to 3 ranks: its error must remain within its account, and more than one rank must send fewer bytes than without compression.
#
#   halo.sh <libfzgm.a>
. "$(dirname "$0")/../shell.sh"
library=$(realpath "$1")
cd "$here/../.."
mpicc -std=c11 -O1 -Wall -Wextra -Wshadow -Werror "${undefined[@]}" -Iinclude examples/halo_mpi.c -o "$work/halo" "$library" -lgcc_s -lutil -lrt -lpthread -lm -ldl
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for ranks in 1 2 3; do
  mpirun -n $ranks --oversubscribe ./halo 40 20 | tee out
  [ $ranks = 1 ] || grep -qE 'ratio ([2-9]|[1-9][0-9])\.' out
done
# More ranks than layers is an error, and so is a bound that is not positive.
for arguments in '-n 4 --oversubscribe ./halo 3 1' '-n 2 --oversubscribe ./halo 40 1 -1'; do
  # shellcheck disable=SC2086
  if mpirun $arguments >out 2>&1; then cat out; exit 1; fi
done
printf 'ok  compressed halos between 1, 2, and 3 ranks\n'
