// Barriers of a block. Threads that have left no longer count; threads at two different barriers are an error.
#pragma once

namespace fzemu {
enum class Vote { count, all, any };
void block_barrier(const char* file, int line);
int block_vote(bool yes, Vote kind, const char* file, int line);
}  // namespace fzemu

#define __syncthreads() fzemu::block_barrier(FZ_HERE)
#define __syncthreads_count(p) fzemu::block_vote((p) != 0, fzemu::Vote::count, FZ_HERE)
#define __syncthreads_and(p) fzemu::block_vote((p) != 0, fzemu::Vote::all, FZ_HERE)
#define __syncthreads_or(p) fzemu::block_vote((p) != 0, fzemu::Vote::any, FZ_HERE)
