/* The same datasets by the filter and by fzgm_hdf5_chunks.h, from memory of the host and of a GPU, for files that have to be equal.
 *
 *   device filter <file> <raw f32 field of 721 x 1440>               H5Dwrite, with the filter; FZGM_DEVICE selects the device
 *   device host|gpu <file> <raw f32 field of 721 x 1440>             fzgm_hdf5_chunks.h
 *   device refuse <file>                                             what fzgm_chunks_open does not take
 *
 * The driver of CUDA is opened by name, so that no toolkit is needed. Values take no functions of libm, which differ. */
#include <dlfcn.h>
#include <fzgm_hdf5_chunks.h>
#include <stdio.h>

#include "check.h"

typedef unsigned long long address_t;
static int (*cuInit)(unsigned);
static int (*cuDevicePrimaryCtxRetain)(void **, int);
static int (*cuCtxSetCurrent)(void *);
static int (*cuMemAlloc)(address_t *, size_t);
static int (*cuMemFree)(address_t);
static int (*cuMemcpyHtoD)(address_t, const void *, size_t);
static int (*cuMemcpyDtoH)(void *, address_t, size_t);
static int (*cuStreamCreate)(fz_cuda_stream *, unsigned);
static int (*cuStreamSynchronize)(fz_cuda_stream);
static fz_cuda_stream stream;

static void find(void *library, void *function, const char *name) {
  void *found = dlsym(library, name);
  CHECK(found != NULL);
  memcpy(function, &found, sizeof found);
}

static void start(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
  CHECK(library != NULL);
  find(library, &cuInit, "cuInit");
  find(library, &cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(library, &cuCtxSetCurrent, "cuCtxSetCurrent");
  find(library, &cuMemAlloc, "cuMemAlloc_v2");
  find(library, &cuMemFree, "cuMemFree_v2");
  find(library, &cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  find(library, &cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  find(library, &cuStreamCreate, "cuStreamCreate");
  find(library, &cuStreamSynchronize, "cuStreamSynchronize");
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  CHECK(cuStreamCreate(&stream, 1) == 0);
}

struct dataset {
  const char *name;
  char kind; /* f, d: float and double; h, b: int16_t and uint8_t; r: records of 12 bytes; g: the given field */
  int big_endian, rank;
  hsize_t dims[4], chunk[4];
  unsigned mode;
  double bound;
  unsigned preset;
  double fill; /* 0: none */
};

static const struct dataset sets[] = {
    {"f32", 'f', 0, 3, {20, 33, 50}, {8, 16, 50}, FZGM_ABS, 1e-2, 0, 0},
    {"f32_big_endian", 'f', 1, 3, {20, 33, 50}, {20, 1, 25}, FZGM_ABS, 1e-2, 0, 0},
    {"f32_fz_fill", 'f', 0, 2, {120, 90}, {50, 40}, FZGM_ABS, 1e-3, 2, -9999},
    {"f32_rank4", 'f', 0, 4, {5, 6, 7, 8}, {2, 6, 3, 8}, FZGM_ABS, 0.05, 2, 0},
    {"f32_fast", 'f', 0, 3, {20, 33, 50}, {8, 16, 50}, FZGM_ABS, 1e-2, 3, 0},
    {"f32_cusz", 'f', 0, 3, {20, 33, 50}, {8, 16, 50}, FZGM_ABS, 1e-2, 6, 0},
    {"f32_lc_cr", 'f', 0, 3, {20, 33, 50}, {8, 16, 50}, FZGM_ABS, 1e-2, 8, -9999},
    {"f64_fast_fill", 'd', 1, 2, {120, 90}, {50, 40}, FZGM_ABS, 1e-3, 3, -9999},
    {"f64_fill", 'd', 0, 2, {120, 90}, {50, 90}, FZGM_ABS, 1e-6, 1, 33333.1},
    {"f64_rel", 'd', 0, 1, {9000}, {4000}, FZGM_REL, 1e-3, 0, -500},
    {"f64_lossless", 'd', 1, 1, {9000}, {4096}, FZGM_LOSSLESS, 0, 0, 0},
    {"i16", 'h', 1, 2, {100, 70}, {64, 64}, FZGM_ABS, 1, 0, 0},
    {"u8", 'b', 0, 1, {5000}, {1001}, FZGM_LOSSLESS, 0, 0, 0},
    {"single", 'd', 0, 2, {1, 3}, {1, 1}, FZGM_ABS, 1, 0, 0},
    {"records", 'r', 0, 1, {700}, {256}, FZGM_ABS, 1, 0, 0},
    {"field", 'g', 0, 2, {721, 1440}, {256, 512}, FZGM_ABS, 0.1, 0, 0},
};

static double value(hsize_t i) {
  const double slow = (double)(i % 401) - 200, fast = (double)(i / 7 % 97) - 48;
  return (slow < 0 ? -slow : slow) / 16 + (fast < 0 ? -fast : fast) / 4 + (double)(i * 2654435761u % 1024) / 65536;
}

static hid_t kind_of(const struct dataset *s, hid_t *memory, size_t *bytes) {
  const int be = s->big_endian;
  *memory = s->kind == 'd' ? H5T_NATIVE_DOUBLE : s->kind == 'h' ? H5T_NATIVE_SHORT : s->kind == 'b' ? H5T_NATIVE_UCHAR : H5T_NATIVE_FLOAT;
  if (s->kind == 'r') *memory = H5Tcreate(H5T_OPAQUE, 12);
  *bytes = H5Tget_size(*memory);
  if (s->kind == 'd') return be ? H5T_IEEE_F64BE : H5T_IEEE_F64LE;
  if (s->kind == 'h') return be ? H5T_STD_I16BE : H5T_STD_I16LE;
  if (s->kind == 'b') return H5T_STD_U8LE;
  if (s->kind == 'r') return *memory;
  return be ? H5T_IEEE_F32BE : H5T_IEEE_F32LE;
}

static void put(const struct dataset *s, unsigned char *at, double x) {
  const float f = (float)x;
  const short h = (short)(x * 100);
  if (s->kind == 'd') memcpy(at, &x, sizeof x);
  else if (s->kind == 'h') memcpy(at, &h, sizeof h);
  else if (s->kind == 'b') *at = (unsigned char)x;
  else if (s->kind == 'r') memcpy(at, &f, sizeof f), memcpy(at + 4, &x, sizeof x);
  else memcpy(at, &f, sizeof f);
}

/* A chunk as HDF5 would hand it to the filter. */
static void gather(const struct dataset *s, const hsize_t *offset, const unsigned char *all, size_t bytes, unsigned char *chunk) {
  hsize_t n = 1, i;
  int d;
  for (d = 0; d < s->rank; d++) n *= s->chunk[d];
  for (i = 0; i < n; i++) {
    hsize_t rest = i, stride = 1, from = 0;
    int inside = 1;
    for (d = s->rank; d-- > 0; rest /= s->chunk[d]) {
      const hsize_t x = offset[d] + rest % s->chunk[d];
      inside = inside && x < s->dims[d];
      from += x * stride;
      stride *= s->dims[d];
    }
    if (inside) memcpy(chunk + i * bytes, all + from * bytes, bytes);
    else if (s->fill == 0) memset(chunk + i * bytes, 0, bytes);
    else put(s, chunk + i * bytes, s->fill);
  }
}

/* The frame of an asynchronous call has to be that of the filter too. Chunks with many values that no bin holds, fill values here, are the
 * exception: only calls that wait can plan again for them. */
static void compare_async(const struct dataset *s, const fzgm_chunks *chunks, address_t src) {
  fz_workspace *workspace;
  fz_result result;
  address_t dst, said;
  unsigned char *frame = malloc((size_t)chunks->capacity);
  CHECK(frame && cuMemAlloc(&dst, (size_t)chunks->capacity) == 0 && cuMemAlloc(&said, sizeof result) == 0);
  CHECK(fz_workspace_new(chunks->plan, &workspace) == FZ_OK);
  CHECK(fz_compress_async(chunks->plan, workspace, (void *)(uintptr_t)src, chunks->chunk_bytes, (void *)(uintptr_t)dst, chunks->capacity,
                          (fz_result *)(uintptr_t)said, stream) == FZ_OK);
  CHECK(cuStreamSynchronize(stream) == 0 && cuMemcpyDtoH(&result, said, sizeof result) == 0);
  CHECK(result.status == FZ_OK || (result.status == FZ_OUTLIER_CAPACITY && s->fill != 0));
  CHECK(cuMemcpyDtoH(frame, dst, (size_t)result.bytes) == 0);
  CHECK(memcmp(frame, chunks->frame, (size_t)result.bytes) == 0);
  fz_workspace_free(workspace);
  CHECK(cuMemFree(dst) == 0 && cuMemFree(said) == 0);
  free(frame);
}

static void by_chunks(const struct dataset *s, hid_t set, const unsigned char *all, size_t bytes, int gpu) {
  fzgm_chunks chunks;
  hsize_t offset[4] = {0, 0, 0, 0};
  unsigned char *chunk;
  address_t device = 0;
  int d, first = 1;
  CHECK(fzgm_chunks_open(&chunks, set, FZ_DEVICE_AUTO) == 0);
  chunk = malloc((size_t)chunks.chunk_bytes);
  CHECK(chunk && (!gpu || cuMemAlloc(&device, (size_t)chunks.chunk_bytes) == 0));
  do {
    gather(s, offset, all, bytes, chunk);
    CHECK(!gpu || cuMemcpyHtoD(device, chunk, (size_t)chunks.chunk_bytes) == 0);
    CHECK(fzgm_chunks_write(&chunks, offset, gpu ? (void *)(uintptr_t)device : chunk) == 0);
    if (gpu && first) compare_async(s, &chunks, device);
    first = 0;
    for (d = s->rank; d-- > 0;) {
      offset[d] += s->chunk[d];
      if (offset[d] < s->dims[d]) break;
      offset[d] = 0;
    }
  } while (d >= 0);
  CHECK(!gpu || cuMemFree(device) == 0);
  free(chunk);
  fzgm_chunks_close(&chunks);
}

static void write_set(hid_t file, const struct dataset *s, const char *how, const char *field) {
  size_t bytes, count = 1, i;
  int d;
  hid_t memory, kind = kind_of(s, &memory, &bytes), dcpl = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(s->rank, s->dims, NULL), set;
  unsigned cd[4];
  unsigned char *all, fill[12];
  for (d = 0; d < s->rank; d++) count *= s->dims[d];
  all = calloc(count, bytes);
  CHECK(all != NULL);
  for (i = 0; i < count; i++) put(s, all + i * bytes, s->fill != 0 && i % 11 == 0 ? s->fill : value(i));
  if (s->kind == 'g') {
    FILE *f = fopen(field, "rb");
    CHECK(f && fread(all, bytes, count, f) == count);
    fclose(f);
  }
  /* Otherwise files differ by the second in which they were made. */
  CHECK(H5Pset_obj_track_times(dcpl, 0) >= 0 && H5Pset_chunk(dcpl, s->rank, s->chunk) >= 0);
  put(s, fill, s->fill);
  CHECK(s->fill == 0 || H5Pset_fill_value(dcpl, memory, fill) >= 0);
  cd[0] = s->mode, cd[3] = s->preset;
  fzgm_double_words(s->bound, cd + 1);
  CHECK(H5Pset_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_MANDATORY, 4, cd) >= 0);
  set = H5Dcreate2(file, s->name, kind, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(set >= 0);
  if (!strcmp(how, "filter")) CHECK(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
  else by_chunks(s, set, all, bytes, !strcmp(how, "gpu"));
  CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Pclose(dcpl) >= 0);
  free(all);
}

static herr_t collect(unsigned n, const H5E_error2_t *error, void *text) {
  if (n == 0) snprintf((char *)text, 200, "%s", error->desc);
  return 0;
}

/* Words of another chunk or type, as a damaged file may have them: chunks of that length would be read from the memory of the caller. Without the
 * plugin an optional filter keeps the words that it is given. */
static void damaged(hid_t file, hid_t space, const hsize_t *dims) {
  static const unsigned places[] = {6, 12, 13};
  unsigned state, cd[14], flags;
  int i;
  CHECK(H5PLget_loading_state(&state) >= 0 && H5PLset_loading_state(0) >= 0);
  for (i = 0; i < 4; i++) {
    char text[200] = "", name[2] = {(char)('p' + i), 0};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), set;
    size_t n = 14;
    fzgm_chunks chunks;
    CHECK(H5Pset_chunk(dcpl, 1, dims) >= 0 && H5Pset_fzgm_explicit(dcpl, 4, FZGM_ABS, 1e-3) >= 0);
    CHECK(H5Pget_filter_by_id2(dcpl, H5Z_FILTER_FZGM, &flags, &n, cd, 0, NULL, NULL) >= 0 && n == 14);
    if (i < 3) cd[places[i]] += 4;
    CHECK(H5Pmodify_filter(dcpl, H5Z_FILTER_FZGM, H5Z_FLAG_OPTIONAL, n, cd) >= 0);
    set = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(set >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
    if (i == 3) {
      CHECK(fzgm_chunks_open(&chunks, set, FZ_DEVICE_AUTO) == 0);
      fzgm_chunks_close(&chunks);
    } else {
      CHECK(fzgm_chunks_open(&chunks, set, FZ_DEVICE_AUTO) == -1 && chunks.plan == NULL);
      CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, text) >= 0);
      CHECK(!strcmp(text, "fzgm: the cd_values do not match the element size or the chunk shape of the dataset; the file is damaged"));
    }
    CHECK(H5Dclose(set) >= 0 && H5Pclose(dcpl) >= 0);
  }
  CHECK(H5PLset_loading_state(state) >= 0);
}

/* A frame is a whole chunk: other filters would have to come after it, and other datasets have no words of ours. */
static void refuse(const char *path) {
  static const hsize_t dims[1] = {64};
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
  fzgm_chunks chunks;
  int i;
  damaged(file, space, dims);
  for (i = 0; i < 4; i++) {
    char text[200] = "", name[2] = {(char)('a' + i), 0};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), set;
    CHECK(H5Pset_chunk(dcpl, 1, dims) >= 0);
    if (i == 0) CHECK(H5Pset_fzgm(dcpl, FZGM_ABS, 1e-3) >= 0 && H5Pset_fletcher32(dcpl) >= 0);
    if (i == 1) CHECK(H5Pset_shuffle(dcpl) >= 0);
    if (i == 3) CHECK(H5Pset_fzgm_preset(dcpl, FZGM_ABS, 1e-3, FZGM_PRESET_HIGH) >= 0);
    set = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(set >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
    CHECK(fzgm_chunks_open(&chunks, set, FZ_DEVICE_AUTO) == -1 && chunks.plan == NULL);
    CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, text) >= 0);
    CHECK(!strncmp(text, i < 3 ? "fzgm: fzgm must be the only filter of the dataset" : "fzgm: chunks of presets high and high_once have a prefix", 46));
    CHECK(H5Dclose(set) >= 0 && H5Pclose(dcpl) >= 0);
  }
  CHECK(H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

/* After a failure on a GPU the filter uses the CPU, so equal files do not prove that a GPU was used: with FZGM_DEVICE=cuda:0 the device has a
 * context afterwards, and where kernels are counted there were some. */
static void it_was_a_gpu(void) {
  int (*state)(int, unsigned *, int *), active = 0;
  long (*count)(const char *);
  unsigned flags;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *counter;
  CHECK(library != NULL);
  find(library, &state, "cuDevicePrimaryCtxGetState");
  CHECK(state(0, &flags, &active) == 0 && active);
  counter = dlsym(library, "fzemu_count");
  memcpy(&count, &counter, sizeof count);
  CHECK(!counter || count("launch") > 50);
}

int main(int argc, char **argv) {
  CHECK(argc >= 3);
  if (!strcmp(argv[1], "refuse")) {
    refuse(argv[2]);
  } else {
    hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    size_t i;
    CHECK(file >= 0 && argc == 4);
    if (!strcmp(argv[1], "gpu")) start();
    for (i = 0; i < sizeof sets / sizeof *sets; i++) write_set(file, &sets[i], argv[1], argv[3]);
    CHECK(H5Fclose(file) >= 0);
    if (!strcmp(argv[1], "filter") && getenv("FZGM_DEVICE")) it_was_a_gpu();
  }
  CHECK(H5close() >= 0);
  return 0;
}
