/* Compresses chunks in a program, usually on a GPU, and writes them with H5Dwrite_chunk, without the filter. The bytes of the chunks are
 * those that the filter writes. Requires hdf5.h (1.10.3 or later), fzgm.h, and libfzgm, but no CUDA header.
 *
 *   fzgm_chunks chunks;
 *   if (fzgm_chunks_open(&chunks, dataset, FZ_DEVICE_AUTO)) ...
 *   for each chunk: if (fzgm_chunks_write(&chunks, offset, in_device_memory)) ...
 *   fzgm_chunks_close(&chunks);
 *
 * Functions that can fail return 0, an fz_status with its text in fz_last_error(), or -1 with its text on the error stack of HDF5. */
#ifndef FZGM_HDF5_CHUNKS_H
#define FZGM_HDF5_CHUNKS_H

#include <fzgm.h>
#include <fzgm_hdf5.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  hid_t dataset;           /* of the caller, who must keep it open */
  fz_plan *plan;           /* compresses a chunk; also fz_compress_async() writes checksums */
  fz_workspace *workspace; /* for that plan */
  void *frame;             /* the compressed chunk, in host memory */
  uint64_t capacity;       /* of `frame`, enough for every chunk */
  uint64_t chunk_bytes;    /* of an uncompressed chunk */
} fzgm_chunks;

static inline int32_t fzgm_chunks_failed(const char *function, unsigned line, const char *why) {
  H5Epush2(H5E_DEFAULT, "fzgm_hdf5_chunks.h", function, line, H5E_ERR_CLS, H5E_PLINE, H5E_CANTFILTER, "fzgm: %s", why);
  return -1;
}

static inline double fzgm_words_double(const unsigned words[2]) {
  uint64_t bits = words[0] | ((uint64_t)words[1] << 32);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The cd_values that the dataset stores. Another filter would change the frame, so it is rejected. */
static inline int32_t fzgm_chunks_words(hid_t dataset, unsigned cd[76], size_t *count) {
  unsigned flags, config;
  hid_t list = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
  const size_t bytes = H5Tget_size(type);
  hsize_t chunk[32];
  int filters, known, rank, i;
  *count = 76;
  if (type >= 0) H5Tclose(type);
  if (list < 0) return -1;
  filters = H5Pget_nfilters(list);
  known = filters == 1 && H5Pget_filter2(list, 0, &flags, count, cd, 0, NULL, &config) == H5Z_FILTER_FZGM;
  rank = known ? H5Pget_chunk(list, 32, chunk) : 0;
  if (H5Pclose(list) < 0) return -1;
  if (!known) return fzgm_chunks_failed("fzgm_chunks_open", __LINE__, "fzgm must be the only filter of the dataset; remove other filters, or write chunks with H5Dwrite");
  if (*count > 4 && cd[4] == 0x465a0002u)
    return fzgm_chunks_failed("fzgm_chunks_open", __LINE__,
                              "chunks of presets high and high_once have a prefix; write them with H5Dwrite, or choose another preset");
  if (*count < 12 || *count > 76 || cd[4] != 0x465a0001u || cd[11] > 32 || *count != 12 + 2 * (size_t)cd[11])
    return fzgm_chunks_failed("fzgm_chunks_open", __LINE__, "the cd_values of the dataset are incomplete or of an unknown version; use a newer fzgm_hdf5_chunks.h");
  /* The chunk of the caller has the size in the dataset. A damaged file may have other sizes in the cd_values. */
  known = rank == (int)cd[11] && bytes == cd[6];
  for (i = 0; known && i < rank; i++) known = chunk[i] == (cd[12 + 2 * i] | ((uint64_t)cd[13 + 2 * i] << 32));
  if (!known) return fzgm_chunks_failed("fzgm_chunks_open", __LINE__, "the cd_values do not match the element size or the chunk shape of the dataset; the file is damaged");
  return 0;
}

/* The pipeline of the filter for these words. */
static inline int32_t fzgm_chunks_pipeline(const unsigned *cd, int32_t dtype, fz_pipeline **pipeline) {
  static const char *const presets[9] = {"pfpl", "pfpl", "fz", "fast", NULL, NULL, "cusz", "cusz_ans", "lc_cr"};
  const double bound = fzgm_words_double(cd + 7), threshold = fzgm_words_double(cd + 9);
  const int lossy = bound > 0;
  int32_t rc;
  if (cd[3] > 8 || presets[cd[3]] == NULL) return fzgm_chunks_failed("fzgm_chunks_open", __LINE__, "this header does not support the preset of the dataset; use a newer fzgm_hdf5_chunks.h");
  rc = fz_pipeline_from_preset(lossy ? presets[cd[3]] : "bits", dtype, pipeline);
  if (rc != FZ_OK || !lossy) return rc;
  rc = fz_pipeline_set_string(*pipeline, FZ_EVERY_STAGE, "mode", cd[0] == FZGM_REL ? "rel" : "abs");
  if (rc == FZ_OK) rc = fz_pipeline_set_double(*pipeline, FZ_EVERY_STAGE, "error_bound", bound);
  if (rc == FZ_OK) rc = fz_pipeline_set_double(*pipeline, FZ_EVERY_STAGE, "outlier_threshold", threshold);
  if (rc == FZ_OK) rc = fz_pipeline_set_int(*pipeline, FZ_EVERY_STAGE, "fixed_step", 1);
  if (rc != FZ_OK) {
    fz_pipeline_free(*pipeline);
    *pipeline = NULL;
  }
  return rc;
}

static inline void fzgm_chunks_close(fzgm_chunks *chunks) {
  free(chunks->frame);
  fz_workspace_free(chunks->workspace);
  fz_plan_free(chunks->plan);
  memset(chunks, 0, sizeof *chunks);
}

/* Opens a dataset with the filter for fzgm_chunks_write(). `device` is a device of fz_options; FZ_DEVICE_AUTO compresses each chunk on the
 * device of its memory. After a failure, do not call fzgm_chunks_close(). */
static inline int32_t fzgm_chunks_open(fzgm_chunks *chunks, hid_t dataset, int32_t device) {
  static const unsigned width[10] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
  unsigned cd[76], i, opaque, ndim = 0;
  uint64_t dims[3] = {1, 1, 1}, slow = 1, elements = 1;
  size_t count;
  int32_t dtype, rc;
  fz_pipeline *pipeline;
  fz_options options;
  memset(chunks, 0, sizeof *chunks);
  chunks->dataset = dataset;
  rc = fzgm_chunks_words(dataset, cd, &count);
  if (rc != 0) return rc;
  dtype = (int32_t)(cd[5] & 0xff);
  opaque = cd[5] >> 9 & 1;
  if (dtype > FZ_F64) return fzgm_chunks_failed("fzgm_chunks_open", __LINE__, "the element type in the cd_values of the dataset is unknown; the file is damaged");

  /* At most three dimensions, the fastest first, without dimensions of length 1. Opaque elements have one dimension. */
  for (i = cd[11]; i-- > 0;) {
    uint64_t n = cd[12 + 2 * i] | ((uint64_t)cd[13 + 2 * i] << 32);
    elements *= n;
    if (n <= 1) continue;
    if (ndim < 2) dims[ndim++] = n;
    else slow *= n;
  }
  if (slow > 1) dims[ndim++] = slow;
  if (ndim == 0) ndim = 1;
  chunks->chunk_bytes = elements * cd[6];
  if (opaque) {
    dims[0] = chunks->chunk_bytes / width[dtype];
    ndim = 1;
  }

  rc = fzgm_chunks_pipeline(cd, dtype, &pipeline);
  if (rc != FZ_OK) return rc;
  fz_options_init(&options);
  options.container = FZ_CONTAINER_COMPACT;
  options.checksum = 2; /* also in asynchronous calls, because the filter writes checksums */
  options.device = device;
  rc = fz_pipeline_finalize(pipeline, dtype, dims, ndim, &options, &chunks->plan);
  fz_pipeline_free(pipeline);
  if (rc == FZ_OK) rc = fz_workspace_new(chunks->plan, &chunks->workspace);
  if (rc == FZ_OK) rc = fz_max_compressed_bytes(chunks->plan, &chunks->capacity);
  if (rc == FZ_OK) {
    chunks->frame = malloc((size_t)chunks->capacity);
    if (!chunks->frame) rc = FZ_OUT_OF_MEMORY;
  }
  if (rc != FZ_OK) fzgm_chunks_close(chunks);
  return rc;
}

/* Compresses a chunk and writes it. Work on the GPU that computes the chunk must be complete before the call, see fz_compress(). Must not be
 * called if several ranks have the file open, because HDF5 has no collective form of H5Dwrite_chunk.
 *
 * `offset`  position of the first element of the chunk in the dataset, as in H5Dwrite_chunk.
 * `chunk`   chunk_bytes bytes in memory of any kind. Numbers are in the byte order of the machine, also if the dataset has the other order.
 *           At the edge of the dataset, pass the full chunk shape, with fill values outside the dataset. */
static inline int32_t fzgm_chunks_write(fzgm_chunks *chunks, const hsize_t *offset, const void *chunk) {
  uint64_t bytes = 0;
  int32_t rc = fz_compress(chunks->plan, chunks->workspace, chunk, chunks->chunk_bytes, chunks->frame, chunks->capacity, &bytes);
  if (rc != FZ_OK) return rc;
  return H5Dwrite_chunk(chunks->dataset, H5P_DEFAULT, 0, offset, (size_t)bytes, chunks->frame) < 0 ? -1 : 0;
}

#ifdef __cplusplus
}
#endif
#endif
