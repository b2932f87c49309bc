/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_STORE_FAULT_INJECTION_H
#define ASSAY_STORE_FAULT_INJECTION_H

/* For tests: file operations that fail, or end the process, at a chosen call.
 *
 * The test program defines the functions of the C library that change files, and exports them, so that DuckDB and
 * libstdc++ call them too. Each call that concerns a file whose path contains `part` is counted from 1. Functions that
 * the C library calls inside itself (mkostemp, opendir) are not seen. Thread: any, but plan before there are threads.
 */

#ifdef __cplusplus
extern "C" {
#endif

enum assay_fault_kind {
  ASSAY_FAULT_NONE,   /* only count */
  ASSAY_FAULT_ONCE,   /* call number `at` fails */
  ASSAY_FAULT_ALWAYS, /* it and all later ones fail, as on a disk that is full or gone */
  ASSAY_FAULT_KILL    /* the process gets SIGKILL before it */
};

enum assay_fault_call {
  ASSAY_CALL_CREATE = 1, /* open() that creates, mkdir() */
  ASSAY_CALL_WRITE = 2,  /* write(), pwrite() */
  ASSAY_CALL_TRUNCATE = 4,
  ASSAY_CALL_SYNC = 8,
  ASSAY_CALL_RENAME = 16,
  ASSAY_CALL_REMOVE = 32,
  ASSAY_CALL_CLOSE = 64,
  ASSAY_CALL_ANY = 127
};

/* `calls`: an or of assay_fault_call. `part` must outlive the plan; empty: every path. */
void assay_plan_fault(enum assay_fault_kind kind, unsigned calls, const char* part, unsigned long at, int error);

/* How many calls were counted since the last plan. */
unsigned long assay_counted_calls(void);

#ifdef __cplusplus
}
#endif
#endif
