#!/usr/bin/env bash
# A test of the emulator. Each line is a case of selftest/main.cpp, a mode, and the required result:
# "passes", or the end of the error text. A bug that is not reported fails the test.
. "$(dirname "$0")/../../scripts/lib.sh"
source_folder=tests/emu/selftest
for kind in plain asan; do FZ_EMU_OUT=build/emu-selftest/$kind bash tests/emu/build.sh $kind $source_folder/bugs.cu >/dev/null; done
program=build/emu-selftest/selftest
g++ -std=c++17 -Wall -Wextra -O1 -g1 -I$source_folder -Ikernels $source_folder/main.cpp -o $program -Lbuild/emu-selftest/plain -l:libcuda.so.1

# mode <name> <command…>: fwd, rev and a number are orders of threads; deferred, asan, and deferred-asan.
mode() {
  local mode=$1 kind=plain order=fwd defer=0 preload=
  shift
  case $mode in fwd | rev | [0-9]*) order=$mode ;; esac
  case $mode in *deferred*) defer=1 ;; esac
  case $mode in *asan) kind=asan preload=$(g++ -print-file-name=libasan.so) ;; esac
  env FZ_EMU_ORDER="$order" FZ_EMU_DEFER=$defer LD_LIBRARY_PATH=build/emu-selftest/$kind LD_PRELOAD="$preload" \
    ASAN_OPTIONS=detect_leaks=0 "$@"
}

missed=0 checked=0
while read -r name modes wanted; do
  [[ -z $name || $name == \#* ]] && continue
  for m in ${modes//,/ }; do
    checked=$((checked + 1))
    said=$(mode "$m" "$program" "$name" 2>&1) && result=passes || result=$said
    [[ $result == *"$wanted"* ]] && continue
    missed=$((missed + 1))
    printf 'MISSED: %s (%s) should end with "%s", but: %s\n' "$name" "$m" "$wanted" "$(head -c 600 <<<"$result")" >&2
  done
done <<'CASES'
# without a bug
neighbors                       fwd,rev,7,8,deferred,asan           passes
look_back                        fwd,rev,7,8,deferred,asan           passes
functions                        fwd,rev,7,asan                      passes
event_orders_streams             fwd,deferred,deferred-asan          passes
capture_refuses                  fwd,deferred                        passes
graph_replays                    fwd,deferred,deferred-asan          passes
limits_of_launches               fwd                                 passes
kinds_of_pointers                fwd,asan                            passes
counts                           fwd,deferred                        passes
launch_ahead_awaited             fwd,deferred                        passes
calls_fail                       fwd,deferred,asan                   passes
destroyed_stream_awaited         fwd,deferred,deferred-asan          passes
destroyed_stream_not_awaited     fwd                                 passes
launch_ahead_not_awaited         fwd,deferred                        has not waited for the launch ahead
# the order of threads
missing_barrier                  fwd                                 passes
missing_barrier                  rev,7                               in place of
missing_second_barrier           fwd,7                               in place of
# poison
unset_shared                     fwd,asan                            in place of
unset_dynamic_shared             fwd,asan                            in place of
# the scheduler
divergent_barrier                fwd,rev,7                           divergent __syncthreads
barrier_against_shuffle          fwd,rev                             deadlock
mask_without_caller              fwd                                 the caller is not in the mask
mask_of_lanes_that_left          rev                                 a lane that has left
mask_of_lanes_that_left          fwd                                 deadlock
mask_of_another_branch           fwd                                 a lane that has left
mask_of_another_branch           rev                                 deadlock
shuffle_outside_mask             fwd                                 a lane that is not in the mask
# the sanitizers
store_past_end                   asan                                heap-buffer-overflow
shared_past_end                  asan                                out of bounds
dynamic_shared_past_end          asan                                heap-buffer-overflow
misaligned                       asan                                misaligned address
shift_too_far                    asan                                shift exponent
conversion_out_of_range          asan                                outside the range
graph_memory_used_after_release  asan                                use-after-poison
freed_early                      deferred-asan                       heap-use-after-free
# the driver
freed_twice                      fwd                                 is 1 in place of 0
freed_twice                      deferred                            is freed twice
copy_past_end                    fwd                                 not within one live allocation
result_read_early                deferred                            in place of
destroyed_stream_not_awaited     deferred                            in place of
other_stream_not_awaited         deferred                            in place of
CASES
[ $missed = 0 ] || die "$missed of $checked cases do not end as they should"
printf '%s cases of the emulator end as they should\n' "$checked"
