/* The filter in a C program: fzgm_hdf5.h, the plugin as H5Zregister takes it, and what happens where it cannot find HDF5.
 *
 *   filter write <file> | explicit <file> | hidden <file> | register <file> <plugin>
 */
#include <dlfcn.h>
#include <fzgm_hdf5.h>

#include "check.h"

#define ROWS 60
#define COLUMNS 50

static double values[ROWS * COLUMNS], restored[ROWS * COLUMNS];

static herr_t collect(unsigned n, const H5E_error2_t *error, void *text) {
  (void)n;
  if (error->desc) strncat((char *)text, error->desc, 999 - strlen((char *)text));
  return 0;
}

static double distance(void) {
  double most = 0;
  int i;
  for (i = 0; i < ROWS * COLUMNS; i++) most = fmax(most, fabs(values[i] - restored[i]));
  return most;
}

/* Writes the values with a list, closes the file, and reads them back. */
static double through(const char *path, hid_t dcpl, hid_t type) {
  hsize_t dims[2] = {ROWS, COLUMNS};
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, dims, NULL);
  hid_t set = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(set >= 0);
  CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
  file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "d", H5P_DEFAULT);
  CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
  CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
  return distance();
}

static hid_t list(void) {
  hsize_t chunk[2] = {16, COLUMNS};
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(dcpl, 2, chunk) >= 0);
  return dcpl;
}

static void writes(const char *path) {
  char text[1000] = "";
  hsize_t dims[1] = {64};
  static const unsigned presets[] = {FZGM_PRESET_DEFAULT, FZGM_PRESET_PFPL, FZGM_PRESET_FZ, FZGM_PRESET_FAST, FZGM_PRESET_HIGH, FZGM_PRESET_CUSZ,
                                     FZGM_PRESET_CUSZ_ANS, FZGM_PRESET_LC_CR, FZGM_PRESET_HIGH_ONCE};
  unsigned flags, words[4];
  size_t n = 4, i;
  hid_t dcpl, file, space;
  double off;
  dcpl = list();
  CHECK(H5Pset_fzgm(dcpl, FZGM_ABS, 1e-3) >= 0);
  off = through(path, dcpl, H5T_IEEE_F32BE);
  CHECK(off > 1e-4 && off <= 1e-3);
  H5Pclose(dcpl);
  for (i = 0; i < sizeof presets / sizeof *presets; i++) {
    dcpl = list();
    CHECK(H5Pset_fzgm_preset(dcpl, FZGM_ABS, 1e-3, presets[i]) >= 0);
    CHECK(H5Pget_filter_by_id2(dcpl, H5Z_FILTER_FZGM, &flags, &n, words, 0, NULL, NULL) >= 0 && n == 4 && words[3] == presets[i]);
    off = through(path, dcpl, H5T_NATIVE_FLOAT);
    CHECK(off > 1e-4 && off <= 1e-3);
    H5Pclose(dcpl);
  }
  dcpl = list();
  CHECK(H5Pset_fzgm(dcpl, FZGM_LOSSLESS, 0) >= 0);
  CHECK(through(path, dcpl, H5T_NATIVE_DOUBLE) == 0);
  H5Pclose(dcpl);

  /* A dataset is rejected when it is created, with the reason on the error stack. */
  dcpl = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(dcpl, 1, dims) >= 0 && H5Pset_fzgm(dcpl, FZGM_ABS, -1) >= 0);
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  space = H5Screate_simple(1, dims, NULL);
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  CHECK(H5Dcreate2(file, "d", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT) < 0);
  CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, text) >= 0);
  CHECK(strstr(text, "fzgm: the error bound is -1.0") != NULL);
  /* By this use the program has copies of the ids of the library, which the plugin must not miss. */
  CHECK(H5E_ERR_CLS > 0 && H5E_PLINE > 0 && H5E_CANTFILTER > 0);
  H5Pclose(dcpl);
  H5Sclose(space);
  H5Fclose(file);
}

/* The complete cd_values must be those that the plugin would have made. */
static void explicitly(const char *path) {
  static const double bounds[] = {1e-3, 0.37, 5, 1e-39}, fills[] = {0, -0.0, NAN, INFINITY};
  static const size_t sizes[] = {4, 8};
  unsigned own[80], made[80], flags;
  size_t i, k, n, m;
  for (i = 0; i < 8; i++) {
    double bound = bounds[i / 2];
    hid_t type = i % 2 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, dcpl = list(), file, set, stored;
    /* These fill values change no cd_values. */
    CHECK(H5Pset_fill_value(dcpl, H5T_NATIVE_DOUBLE, &fills[i / 2]) >= 0);
    CHECK(H5Pset_fzgm_explicit(dcpl, sizes[i % 2], FZGM_ABS, bound) >= 0);
    /* Between 1e-39 and the values lie more steps than there are bins: they are exact, save for becoming floats. */
    CHECK(through(path, dcpl, type) <= (bound < 1e-6 ? 1e-6 : bound));
    n = m = 80;
    CHECK(H5Pget_filter_by_id2(dcpl, H5Z_FILTER_FZGM, &flags, &n, own, 0, NULL, NULL) >= 0);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    set = H5Dopen2(file, "d", H5P_DEFAULT);
    stored = H5Dget_create_plist(set);
    CHECK(H5Pget_filter_by_id2(stored, H5Z_FILTER_FZGM, &flags, &m, made, 0, NULL, NULL) >= 0);
    CHECK(n == m);
    for (k = 0; k < n; k++) CHECK(own[k] == made[k]);
    H5Pclose(stored);
    H5Dclose(set);
    H5Fclose(file);
    H5Pclose(dcpl);
  }
}

/* The text of the newest error. */
static const char *newest(void) {
  static char text[1000];
  text[0] = 0;
  CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, text) >= 0);
  return text;
}

/* A bound of mode lossless, and mode and bound in the wrong order. */
static void bound_of_lossless(hid_t dcpl) {
  static const double bounds[] = {0.01, -1, 1e300, NAN, INFINITY};
  size_t i;
  for (i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    CHECK(H5Pset_fzgm(dcpl, FZGM_LOSSLESS, bounds[i]) == -1);
    CHECK(strstr(newest(), "fzgm: the mode is FZGM_LOSSLESS, but the bound is not 0; pass the mode before the bound") != NULL);
    CHECK(H5Pset_fzgm_preset(dcpl, FZGM_LOSSLESS, bounds[i], FZGM_PRESET_EXACT) == -1);
    CHECK(H5Pset_fzgm_explicit(dcpl, sizeof(float), FZGM_LOSSLESS, bounds[i]) == -1);
    CHECK(strstr(newest(), "fzgm: the mode is FZGM_LOSSLESS") != NULL);
  }
  CHECK(H5Pset_fzgm(dcpl, (unsigned)0.01, FZGM_ABS) == -1 && H5Pset_fzgm(dcpl, (unsigned)0.01, FZGM_REL) == -1);
  CHECK(H5Pget_nfilters(dcpl) == 0);
}

/* Fill values for which the cd_values of H5Pset_fzgm_explicit are wrong, and those that change no cd_values. */
static void fills_of_explicit(hid_t dcpl) {
  static const double wrong[] = {-999, 1e20, 1e-310, DBL_MAX}, right[] = {0, -0.0, NAN, INFINITY, -INFINITY};
  static const float narrow = -999;
  size_t i;
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK(H5Pset_fill_value(dcpl, H5T_NATIVE_DOUBLE, &wrong[i]) >= 0);
    CHECK(H5Pset_fzgm_explicit(dcpl, sizeof(double), FZGM_ABS, 1e-3) == -1);
    CHECK(strstr(newest(), "fzgm: the fill value is not 0, NaN, or infinity; remove it") != NULL);
    CHECK(H5Pset_fzgm_explicit(dcpl, sizeof(double), FZGM_REL, 1e-3) == -1 && H5Pget_nfilters(dcpl) == 0);
    CHECK(H5Pset_fzgm_explicit(dcpl, sizeof(double), FZGM_LOSSLESS, 0) >= 0 && H5Premove_filter(dcpl, H5Z_FILTER_FZGM) >= 0);
  }
  CHECK(H5Pset_fill_value(dcpl, H5T_NATIVE_FLOAT, &narrow) >= 0);
  CHECK(H5Pset_fzgm_explicit(dcpl, sizeof(float), FZGM_ABS, 1e-3) == -1);
  for (i = 0; i < sizeof right / sizeof *right; i++) {
    CHECK(H5Pset_fill_value(dcpl, H5T_NATIVE_DOUBLE, &right[i]) >= 0);
    CHECK(H5Pset_fzgm_explicit(dcpl, sizeof(double), FZGM_ABS, 1e-3) >= 0 && H5Premove_filter(dcpl, H5Z_FILTER_FZGM) >= 0);
  }
}

/* Arguments that the header itself rejects. */
static void rejects(void) {
  hid_t dcpl = list(), empty = H5Pcreate(H5P_DATASET_CREATE);
  H5E_auto2_t print;
  void *data;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &print, &data) >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  bound_of_lossless(dcpl);
  fills_of_explicit(dcpl);
  CHECK(H5Pset_fzgm_explicit(empty, sizeof(float), FZGM_ABS, 1e-3) == -1);
  CHECK(H5Pset_fzgm_explicit(dcpl, 2, FZGM_ABS, 1e-3) == -1 && strstr(newest(), "fzgm: element_bytes is not 4 or 8") != NULL);
  CHECK(H5Eset_auto2(H5E_DEFAULT, print, data) >= 0);
  H5Pclose(empty);
  H5Pclose(dcpl);
}

/* HDF5 is in this program without exported names: short cd_values cannot be completed, and writing reports this. */
static void hidden(const char *path) {
  hsize_t dims[2] = {ROWS, COLUMNS};
  hid_t dcpl = list(), file, space, set;
  CHECK(H5Pset_fzgm(dcpl, FZGM_ABS, 1e-3) >= 0);
  file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  space = H5Screate_simple(2, dims, NULL);
  set = H5Dcreate2(file, "d", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  CHECK(set < 0 || H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 || H5Dclose(set) < 0);
  /* A failed write would be tried again when the library closes. */
  _Exit(0);
}

static void registers(const char *path, const char *plugin) {
  const H5Z_class2_t *(*info)(void);
  const H5Z_class2_t *class;
  void *symbol, *opened = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  CHECK(opened != NULL);
  symbol = dlsym(opened, "H5PLget_plugin_info");
  CHECK(symbol != NULL);
  memcpy(&info, &symbol, sizeof info);
  class = info();
  CHECK(class->version == H5Z_CLASS_T_VERS && class->id == H5Z_FILTER_FZGM && class->encoder_present == 1);
  CHECK(class->decoder_present == 1 && strcmp(class->name, "fzgm") == 0 && class->can_apply && class->set_local && class->filter);
  CHECK(H5Zregister(class) >= 0);
  CHECK(class->filter(0, 0, NULL, 0, NULL, NULL) == 0);
  writes(path);
}

/* The plugin is built without hdf5.h and has these numbers and layouts by itself: hdf5-filter/src/sys.rs. */
static void numbers(void) {
  CHECK(sizeof(hid_t) == 8 && sizeof(hsize_t) == 8 && sizeof(herr_t) == 4 && sizeof(H5Z_filter_t) == 4);
  CHECK(H5T_INTEGER == 0 && H5T_FLOAT == 1 && H5T_ORDER_LE == 0 && H5T_ORDER_BE == 1);
  CHECK(H5T_NORM_IMPLIED == 0 && H5T_SGN_NONE == 0 && H5D_FILL_VALUE_USER_DEFINED == 2);
  CHECK(H5Z_FILTER_SHUFFLE == 2 && H5Z_FLAG_REVERSE == 0x100 && H5Z_CLASS_T_VERS == 1 && H5S_MAX_RANK == 32);
  CHECK(offsetof(H5Z_class2_t, name) == 16 && offsetof(H5Z_class2_t, filter) == 40 && sizeof(H5Z_class2_t) == 48);
}

int main(int argc, char **argv) {
  int i;
  CHECK(argc >= 3);
  numbers();
  for (i = 0; i < ROWS * COLUMNS; i++) values[i] = (float)sin(i / 9.0);
  if (!strcmp(argv[1], "write")) writes(argv[2]);
  if (!strcmp(argv[1], "explicit")) explicitly(argv[2]);
  if (!strcmp(argv[1], "explicit")) rejects();
  if (!strcmp(argv[1], "hidden")) hidden(argv[2]);
  if (!strcmp(argv[1], "register")) registers(argv[2], argv[3]);
  CHECK(H5close() >= 0);
  return 0;
}
