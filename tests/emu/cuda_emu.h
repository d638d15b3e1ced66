// The CUDA device language for g++: every thread of a block is a fiber, all on one thread of the system. Kernels see
// it in place of the CUDA headers where FZ_EMULATED is defined.
//
// Here is what our kernels may use. cub, cooperative_groups, inline PTX, textures and half floats are not here on purpose:
// a kernel that wants them cannot be tested on machines without a GPU.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "device/language.h"
#include "device/block.h"
#include "device/warp.h"
#include "device/memory.h"
#include "device/bits.h"
#include "device/floats.h"
#include "device/entry.h"
