/* fzgm for HDF5 programs in C and C++: the number of the filter, and calls that put it into a dataset creation property list. A header
 * and nothing else: it needs hdf5.h, and the plugin when chunks are written or read. docs/hdf5.md has the cd_values. */
#ifndef FZGM_HDF5_H
#define FZGM_HDF5_H

#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Until The HDF Group assigns another; files with this one will always be read. */
#define H5Z_FILTER_FZGM 32770

/* The mode of the error bound. */
#define FZGM_LOSSLESS 0 /* nothing */
#define FZGM_ABS 1      /* |x - x'| <= bound */
#define FZGM_REL 2      /* |x - x'| <= bound * |x| */

/* Presets. A number never changes its meaning, and a plugin that does not have a number refuses it. */
#define FZGM_PRESET_DEFAULT 0   /* what plugins do without a number: pfpl, or no loss */
#define FZGM_PRESET_PFPL 1      /* FZGM_ABS, FZGM_REL */
#define FZGM_PRESET_FZ 2        /* FZGM_ABS, as all that follow but 5; differences in two or three dimensions */
#define FZGM_PRESET_FAST 3      /* for speed */
#define FZGM_PRESET_HIGH 4      /* for ratio */
#define FZGM_PRESET_EXACT 5     /* FZGM_LOSSLESS, at a higher ratio */
#define FZGM_PRESET_CUSZ 6
#define FZGM_PRESET_CUSZ_ANS 7
#define FZGM_PRESET_LC_CR 8
#define FZGM_PRESET_HIGH_ONCE 9 /* for the best ratio, if every chunk is written whole and once: docs/hdf5.md */

#ifdef __cplusplus
extern "C" {
#endif

/* The two words of a double, the low one first. */
static inline void fzgm_double_words(double value, unsigned words[2]) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  words[0] = (unsigned)(bits & 0xffffffffu);
  words[1] = (unsigned)(bits >> 32);
}

/* Compresses the datasets of this list in a mode with a bound (0 for FZGM_LOSSLESS) by a preset. fzgm must be the first filter of the list.
 * H5Dcreate fails if the bound, the preset, or the dataset is not possible, with a text on the error stack. */
static inline herr_t H5Pset_fzgm_preset(hid_t dcpl, unsigned mode, double bound, unsigned preset) {
  unsigned cd[4];
  cd[0] = mode;
  fzgm_double_words(bound, cd + 1);
  cd[3] = preset;
  return H5Pset_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_MANDATORY, 4, cd);
}

/* The same by the usual preset of the mode: fast for FZGM_ABS, pfpl for FZGM_REL. */
static inline herr_t H5Pset_fzgm(hid_t dcpl, unsigned mode, double bound) {
  const unsigned preset = mode == FZGM_ABS ? FZGM_PRESET_FAST : mode == FZGM_REL ? FZGM_PRESET_PFPL : FZGM_PRESET_DEFAULT;
  return H5Pset_fzgm_preset(dcpl, mode, bound, preset);
}

/* For programs that are linked to HDF5 statically and do not export its functions, so that the plugin cannot query type and
 * chunk: native float or double, without a fill value other than 0. The chunk must have been set. */
static inline herr_t H5Pset_fzgm_explicit(hid_t dcpl, size_t element_bytes, unsigned mode, double bound) {
  hsize_t dims[32];
  unsigned cd[12 + 2 * 32];
  uint64_t bits;
  double used = 0.0, none = HUGE_VAL;
  int i, rank = H5Pget_chunk(dcpl, 32, dims);
  if (rank < 1 || rank > 32 || (element_bytes != 4 && element_bytes != 8)) return -1;
  if (mode != FZGM_LOSSLESS) {
    /* As the plugin does it: six leading bits of the bound for float, those of a float for double. */
    used = bound;
    if (mode == FZGM_ABS && bound >= 1.1754943508222875e-38) {
      memcpy(&bits, &bound, sizeof bits);
      bits &= ~((((uint64_t)1) << (element_bytes == 4 ? 47 : 29)) - 1);
      memcpy(&used, &bits, sizeof bits);
    }
  }
  cd[0] = mode;
  fzgm_double_words(mode == FZGM_LOSSLESS ? 0.0 : bound, cd + 1);
  cd[3] = mode == FZGM_ABS ? FZGM_PRESET_FAST : mode == FZGM_REL ? FZGM_PRESET_PFPL : FZGM_PRESET_DEFAULT;
  cd[4] = 0x465a0001u;
  cd[5] = element_bytes == 4 ? 8u : 9u;
  cd[6] = (unsigned)element_bytes;
  fzgm_double_words(used, cd + 7);
  fzgm_double_words(none, cd + 9);
  cd[11] = (unsigned)rank;
  for (i = 0; i < rank; i++) {
    cd[12 + 2 * i] = (unsigned)(dims[i] & 0xffffffffu);
    cd[13 + 2 * i] = (unsigned)(dims[i] >> 32);
  }
  return H5Pset_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_MANDATORY, 12 + 2 * (size_t)rank, cd);
}

#ifdef __cplusplus
}
#endif
#endif
