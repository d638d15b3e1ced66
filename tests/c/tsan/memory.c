/* rustc's ThreadSanitizer calls these in place of the functions of C; the one of GCC does not have them. The functions that they call, it
 * sees. */
#include <string.h>

void *__tsan_memcpy(void *dst, const void *src, size_t bytes);
void *__tsan_memmove(void *dst, const void *src, size_t bytes);
void *__tsan_memset(void *dst, int byte, size_t bytes);

void *__tsan_memcpy(void *dst, const void *src, size_t bytes) { return memcpy(dst, src, bytes); }
void *__tsan_memmove(void *dst, const void *src, size_t bytes) { return memmove(dst, src, bytes); }
void *__tsan_memset(void *dst, int byte, size_t bytes) { return memset(dst, byte, bytes); }
