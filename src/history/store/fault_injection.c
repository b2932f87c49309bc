/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "history/store/fault_injection.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Neither <unistd.h> nor <fcntl.h>: they may declare these functions with other attributes. */
typedef long ssize_type;
typedef long offset_type;
enum { kCreate = 0100 };
ssize_type readlink(const char* path, char* buffer, size_t size);

static enum assay_fault_kind the_kind = ASSAY_FAULT_NONE;
static unsigned the_calls = 0;
static const char* the_part = "";
static unsigned long the_place = 0;
static int the_error = 0;
static atomic_ulong counted;

void assay_plan_fault(enum assay_fault_kind kind, unsigned calls, const char* part, unsigned long at, int error) {
  the_kind = kind;
  the_calls = calls;
  the_part = part;
  the_place = at;
  the_error = error;
  atomic_store(&counted, 0);
}

unsigned long assay_counted_calls(void) { return atomic_load(&counted); }

/* Whether this call fails; then errno is set. */
static int fails(unsigned call, const char* path) {
  if ((the_calls & call) == 0 || path == NULL || strstr(path, the_part) == NULL) return 0;
  const unsigned long number = atomic_fetch_add(&counted, 1) + 1;
  if (the_kind == ASSAY_FAULT_KILL && number == the_place) raise(SIGKILL);
  if ((the_kind == ASSAY_FAULT_ONCE && number == the_place) ||
      (the_kind == ASSAY_FAULT_ALWAYS && number >= the_place)) {
    errno = the_error;
    return 1;
  }
  return 0;
}

static int fails_at(unsigned call, int file) {
  if ((the_calls & call) == 0) return 0;
  char link[64];
  char path[PATH_MAX];
  const int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_type size = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (size < 0) return 0;
  path[size] = 0;
  return fails(call, path);
}

/* The function of the C library; several threads may look it up at once. */
#define REAL(name, type)                                  \
  static void* found;                                     \
  void* next = __atomic_load_n(&found, __ATOMIC_RELAXED); \
  if (next == NULL) {                                     \
    next = dlsym(RTLD_NEXT, name);                        \
    __atomic_store_n(&found, next, __ATOMIC_RELAXED);     \
  }                                                       \
  __typeof__(type) real;                                  \
  *(void**)&real = next

#define ON_FILE(name, call, result, parameters, arguments) \
  result name parameters {                                 \
    REAL(#name, result(*) parameters);                     \
    return fails_at(call, file) ? -1 : real arguments;     \
  }
#define ON_PATH(name, call, result, parameters, arguments) \
  result name parameters {                                 \
    REAL(#name, result(*) parameters);                     \
    return fails(call, path) ? -1 : real arguments;        \
  }

ON_FILE(write, ASSAY_CALL_WRITE, ssize_type, (int file, const void* data, size_t size), (file, data, size))
ON_FILE(pwrite, ASSAY_CALL_WRITE, ssize_type, (int file, const void* data, size_t size, offset_type at),
        (file, data, size, at))
ON_FILE(pwrite64, ASSAY_CALL_WRITE, ssize_type, (int file, const void* data, size_t size, offset_type at),
        (file, data, size, at))
ON_FILE(ftruncate, ASSAY_CALL_TRUNCATE, int, (int file, offset_type size), (file, size))
ON_FILE(ftruncate64, ASSAY_CALL_TRUNCATE, int, (int file, offset_type size), (file, size))
ON_FILE(fsync, ASSAY_CALL_SYNC, int, (int file), (file))
ON_FILE(fdatasync, ASSAY_CALL_SYNC, int, (int file), (file))
ON_PATH(rename, ASSAY_CALL_RENAME, int, (const char* path, const char* to), (path, to))
ON_PATH(remove, ASSAY_CALL_REMOVE, int, (const char* path), (path))
ON_PATH(unlink, ASSAY_CALL_REMOVE, int, (const char* path), (path))
ON_PATH(rmdir, ASSAY_CALL_REMOVE, int, (const char* path), (path))
ON_PATH(mkdir, ASSAY_CALL_CREATE, int, (const char* path, unsigned mode), (path, mode))

/* A file that cannot be closed is closed nevertheless. */
int close(int file) {
  REAL("close", int (*)(int));
  const int failed = fails_at(ASSAY_CALL_CLOSE, file);
  const int saved = errno;
  const int done = real(file);
  if (!failed) return done;
  errno = saved;
  return -1;
}

#define OPENER(name)                                                                                \
  int name(const char* path, int flags, ...) {                                                      \
    REAL(#name, int (*)(const char*, int, ...));                                                    \
    va_list list;                                                                                   \
    va_start(list, flags);                                                                          \
    const unsigned mode = va_arg(list, unsigned);                                                   \
    va_end(list);                                                                                   \
    return (flags & kCreate) != 0 && fails(ASSAY_CALL_CREATE, path) ? -1 : real(path, flags, mode); \
  }

OPENER(open)
OPENER(open64)
