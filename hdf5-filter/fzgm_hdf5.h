/* fzgm for HDF5 programs in C and C++: the filter number, and functions that add the filter to a dataset creation property list. The header
 * requires only hdf5.h. Writing and reading chunks requires the plugin. docs/hdf5-format.md specifies the cd_values. */
#ifndef FZGM_HDF5_H
#define FZGM_HDF5_H

#include <float.h>
#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Until The HDF Group assigns another number. Files with this number will be readable permanently. */
#define H5Z_FILTER_FZGM 32770

/* The mode of the error bound. */
#define FZGM_LOSSLESS 0 /* no error */
#define FZGM_ABS 1      /* |x - x'| <= bound */
#define FZGM_REL 2      /* |x - x'| <= bound * |x| */

/* Presets. A number never changes its meaning. A plugin rejects numbers that it does not support. */
#define FZGM_PRESET_DEFAULT 0   /* the preset if no number is given: pfpl, or lossless */
#define FZGM_PRESET_PFPL 1      /* FZGM_ABS, FZGM_REL */
#define FZGM_PRESET_FZ 2        /* FZGM_ABS, like all following presets except 5 */
#define FZGM_PRESET_FAST 3      /* for speed */
#define FZGM_PRESET_HIGH 4      /* for ratio */
#define FZGM_PRESET_EXACT 5     /* FZGM_LOSSLESS, at a higher ratio */
#define FZGM_PRESET_CUSZ 6
#define FZGM_PRESET_CUSZ_ANS 7
#define FZGM_PRESET_LC_CR 8
#define FZGM_PRESET_HIGH_ONCE 9 /* highest ratio, if every chunk is written whole and once: docs/hdf5.md */

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

static inline herr_t fzgm_rejected(const char *function, unsigned line, const char *why) {
  H5Epush2(H5E_DEFAULT, "fzgm_hdf5.h", function, line, H5E_ERR_CLS, H5E_ARGS, H5E_BADVALUE, "fzgm: %s", why);
  return -1;
}

/* Also detects most swaps of mode and bound: C converts a bound below 1 to mode 0. */
static inline herr_t fzgm_check_lossless(const char *function, unsigned line, unsigned mode, double bound) {
  if (mode != FZGM_LOSSLESS || bound == 0) return 0;
  return fzgm_rejected(function, line, "the mode is FZGM_LOSSLESS, but the bound is not 0; pass the mode before the bound, or pass bound 0");
}

/* Adds the filter to a list, with mode, bound, and preset. In modes with a bound, fzgm must be the first filter of the list. The bound of
 * FZGM_LOSSLESS must be 0; otherwise, the function returns -1, with a text on the error stack. If the filter does not support the bound, the
 * preset, or the dataset, H5Dcreate fails, with a text on the error stack. */
static inline herr_t H5Pset_fzgm_preset(hid_t dcpl, unsigned mode, double bound, unsigned preset) {
  unsigned cd[4];
  if (fzgm_check_lossless("H5Pset_fzgm_preset", __LINE__, mode, bound) < 0) return -1;
  cd[0] = mode;
  fzgm_double_words(bound, cd + 1);
  cd[3] = preset;
  return H5Pset_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_MANDATORY, 4, cd);
}

/* Adds the filter with the usual preset of the mode: fast for FZGM_ABS, pfpl for FZGM_REL. The bound of FZGM_LOSSLESS must be 0; otherwise,
 * the function returns -1, with a text on the error stack. */
static inline herr_t H5Pset_fzgm(hid_t dcpl, unsigned mode, double bound) {
  const unsigned preset = mode == FZGM_ABS ? FZGM_PRESET_FAST : mode == FZGM_REL ? FZGM_PRESET_PFPL : FZGM_PRESET_DEFAULT;
  return H5Pset_fzgm_preset(dcpl, mode, bound, preset);
}

/* Returns -1, with a text on the error stack, if the fill value of a list is set to a value other than 0, NaN, and infinity. */
static inline herr_t fzgm_check_fill(const char *function, unsigned line, hid_t dcpl) {
  H5D_fill_value_t defined;
  double fill = 0;
  if (H5Pfill_value_defined(dcpl, &defined) < 0) return -1;
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return 0;
  if (H5Pget_fill_value(dcpl, H5T_NATIVE_DOUBLE, &fill) < 0) return -1;
  if (fill == 0 || !(fill >= -DBL_MAX && fill <= DBL_MAX)) return 0;
  return fzgm_rejected(function, line, "the fill value is not 0, NaN, or infinity; remove it, or link HDF5 as a shared library and call H5Pset_fzgm");
}

/* Adds the filter with complete cd_values, for programs that are linked to HDF5 statically: they hide functions of HDF5, so the plugin cannot
 * query type and chunk. Elements must be native float or double. Call H5Pset_chunk() and H5Pset_fill_value() before.
 *
 * The function returns -1, with a text on the error stack, in these cases:
 *   element_bytes is not 4 or 8;
 *   the list has no chunk shape;
 *   the mode is FZGM_LOSSLESS, and the bound is not 0;
 *   the mode is FZGM_ABS or FZGM_REL, and the fill value is set to a value other than 0, NaN, and infinity. */
static inline herr_t H5Pset_fzgm_explicit(hid_t dcpl, size_t element_bytes, unsigned mode, double bound) {
  hsize_t dims[32];
  unsigned cd[12 + 2 * 32];
  uint64_t bits;
  double used = 0.0, none = HUGE_VAL;
  int i, rank = H5Pget_chunk(dcpl, 32, dims);
  if (rank < 1 || rank > 32) return -1;
  if (element_bytes != 4 && element_bytes != 8) return fzgm_rejected("H5Pset_fzgm_explicit", __LINE__, "element_bytes is not 4 or 8; pass sizeof(float) or sizeof(double)");
  if (fzgm_check_lossless("H5Pset_fzgm_explicit", __LINE__, mode, bound) < 0) return -1;
  if (mode != FZGM_LOSSLESS) {
    if (fzgm_check_fill("H5Pset_fzgm_explicit", __LINE__, dcpl) < 0) return -1;
    /* As in the plugin: rounded down to 6 significant bits for float, 24 for double. */
    used = bound;
    if (mode == FZGM_ABS && bound >= 1.1754943508222875e-38) {
      memcpy(&bits, &bound, sizeof bits);
      bits &= ~((((uint64_t)1) << (element_bytes == 4 ? 47 : 29)) - 1);
      memcpy(&used, &bits, sizeof bits);
    }
  }
  cd[0] = mode;
  fzgm_double_words(bound, cd + 1);
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
