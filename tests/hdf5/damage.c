/* Damaged chunks and cd_values, as a damaged file hands them to the filter: an error or a chunk of the right length, and no access to memory
 * that is not there, which valgrind judges: every block has the length that it is said to have.
 *
 *   damage <file> <plugin> <step>      every step-th byte of a chunk is changed, in three ways, and every step-th length tried
 *
 * A checksum finds nearly all of that. So each damage is done twice: as it is, and with a checksum that is right again. */
#include <dlfcn.h>
#include <fzgm_hdf5.h>
#include <stdio.h>

#include "check.h"

#define REVERSE 0x100

static const H5Z_class2_t *class;
static unsigned long tried, refused;

static uint32_t crc32_of(const unsigned char *bytes, size_t n, size_t without) {
  uint32_t crc = 0xffffffffu;
  size_t i;
  int bit;
  for (i = 0; i < n; i++) {
    if (i >= without && i < without + 4) continue;
    crc ^= bytes[i];
    for (bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

/* The place of the checksum: the number there is the checksum of all other bytes. */
static size_t place_of_sum(const unsigned char *frame, size_t n) {
  size_t at;
  for (at = 4; at + 4 <= n; at++) {
    uint32_t sum;
    memcpy(&sum, frame + at, 4);
    if (sum == crc32_of(frame, n, at)) return at;
  }
  CHECK(!"the frame has no checksum");
  return 0;
}

/* Restores a frame in a block of its very length. */
static void restores(const unsigned *cd, size_t words, const unsigned char *frame, size_t n, size_t chunk_bytes, int must_fail) {
  size_t size = n, made, i;
  unsigned char *own = malloc(n ? n : 1), sum = 0;
  unsigned *own_cd = malloc((words ? words : 1) * sizeof *own_cd);
  void *block = own;
  CHECK(own && own_cd);
  memcpy(own, frame, n);
  memcpy(own_cd, cd, words * sizeof *cd);
  made = class->filter(REVERSE, words, own_cd, n, &size, &block);
  CHECK(made == 0 || made == chunk_bytes);
  CHECK(made == 0 || !must_fail);
  CHECK(made != 0 || (block == own && size == n));
  for (i = 0; i < made; i++) sum ^= ((unsigned char *)block)[i];
  if (sum == 0x5a) tried++; /* a decision that bytes which were never written would show in */
  tried++;
  refused += made == 0;
  free(block);
  free(own_cd);
}

static void damage(const unsigned *cd, size_t words, const unsigned char *frame, size_t n, size_t chunk_bytes, size_t step) {
  static const unsigned char flips[] = {0x01, 0x80, 0xff};
  static const unsigned values[] = {0, 1, 2, 3, 7, 0x7fffffffu, 0x80000000u, 0xffffffffu};
  const size_t at = place_of_sum(frame, n);
  unsigned char *bad = malloc(n + 8);
  unsigned *words_of = malloc((words + 2) * sizeof *words_of);
  size_t i, k;
  uint32_t sum;
  CHECK(bad && words_of);
  restores(cd, words, frame, n, chunk_bytes, 0);
  for (i = 0; i < n; i += step) {
    for (k = 0; k < sizeof flips; k++) {
      memcpy(bad, frame, n);
      bad[i] ^= flips[k];
      restores(cd, words, bad, n, chunk_bytes, 1);
      sum = crc32_of(bad, n, at);
      memcpy(bad + at, &sum, 4);
      restores(cd, words, bad, n, chunk_bytes, i < 5);
    }
  }
  for (i = 0; i < n; i += step) {
    memcpy(bad, frame, n);
    restores(cd, words, bad, i, chunk_bytes, 1);
    if (i < at + 4) continue;
    sum = crc32_of(bad, i, at);
    memcpy(bad + at, &sum, 4);
    restores(cd, words, bad, i, chunk_bytes, 1);
  }
  memset(bad, 0, n + 8);
  memcpy(bad, frame, n);
  restores(cd, words, bad, n + 8, chunk_bytes, 1);

  for (i = 0; i < words; i++) {
    restores(cd, i, frame, n, chunk_bytes, 1);
    for (k = 0; k < sizeof values / sizeof *values; k++) {
      memcpy(words_of, cd, words * sizeof *cd);
      words_of[i] = values[k];
      restores(words_of, words, frame, n, chunk_bytes, 0);
    }
  }
  free(bad);
  free(words_of);
}

/* The chunk and the cd_values of a dataset that the filter writes. */
static void dataset(hid_t file, const char *name, hid_t kind, unsigned mode, double bound, unsigned preset, size_t step) {
  static double values[6 * 50];
  hsize_t dims[2] = {6, 50}, at[2] = {0, 0}, bytes;
  hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, dims, NULL), set, made;
  unsigned cd[80] = {0}, flags;
  size_t words = 80, i;
  uint32_t mask = 1;
  unsigned char *frame;
  for (i = 0; i < 300; i++) values[i] = sin((double)i / 9) * 100 + (i % 50 == 7 ? 1e30 : 0);
  cd[0] = mode, cd[3] = preset;
  fzgm_double_words(bound, cd + 1);
  CHECK(H5Pset_chunk(dcpl, 2, dims) >= 0 && H5Pset_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_MANDATORY, 4, cd) >= 0);
  set = H5Dcreate2(file, name, kind, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(set >= 0);
  if (H5Tget_class(kind) == H5T_OPAQUE) CHECK(H5Dwrite(set, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  else CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 && H5Dget_chunk_storage_size(set, at, &bytes) >= 0);
  frame = malloc((size_t)bytes);
  CHECK(frame && H5Dread_chunk(set, H5P_DEFAULT, at, &mask, frame) >= 0 && mask == 0);
  made = H5Dget_create_plist(set);
  CHECK(H5Pget_filter_by_id2(made, H5Z_FILTER_FZGM, &flags, &words, cd, 0, NULL, NULL) >= 0);
  damage(cd, words, frame, (size_t)bytes, 300 * H5Tget_size(kind), step);
  free(frame);
  CHECK(H5Pclose(made) >= 0 && H5Pclose(dcpl) >= 0 && H5Dclose(set) >= 0 && H5Sclose(space) >= 0);
}

int main(int argc, char **argv) {
  const H5Z_class2_t *(*info)(void);
  void *symbol = NULL, *plugin;
  hid_t file, record = H5Tcreate(H5T_OPAQUE, 6);
  size_t step = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
  CHECK(step > 0);
  plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (plugin) symbol = dlsym(plugin, "H5PLget_plugin_info");
  CHECK(symbol != NULL);
  memcpy(&info, &symbol, sizeof info);
  class = info();
  file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  dataset(file, "f32", H5T_IEEE_F32LE, FZGM_ABS, 1e-2, 0, step);
  dataset(file, "f32_fz", H5T_IEEE_F32LE, FZGM_ABS, 1e-2, 2, step);
  dataset(file, "f32_fast", H5T_IEEE_F32LE, FZGM_ABS, 1e-2, 3, step);
  dataset(file, "f64", H5T_IEEE_F64BE, FZGM_REL, 1e-3, 0, step);
  dataset(file, "i32", H5T_STD_I32BE, FZGM_ABS, 1, 0, step);
  dataset(file, "records", record, FZGM_LOSSLESS, 0, 0, step);
  CHECK(H5Fclose(file) >= 0 && H5Tclose(record) >= 0);
  CHECK(refused > tried / 2 && refused < tried);
  printf("    %lu damaged chunks and cd_values, %lu of them refused\n", tried, refused);
  CHECK(H5close() >= 0);
  return 0;
}
