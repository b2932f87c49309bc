/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime of a third party, for the example of docs/engines.md: it reads ONNX files, has eleven operators and
 * computes on one thread. It does not depend on assay.
 *
 * Functions return NULL, or the reason of a failure: a text that is valid until the thread's next call.
 */
#ifndef TOY_H
#define TOY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TOY_MAX_RANK = 8 };

/* Element types are ONNX's numbers. */
typedef struct toy_tensor {
  int32_t type;
  size_t rank;
  int64_t dims[TOY_MAX_RANK]; /* of a model's inputs and outputs: -1 where open */
  const void* data;
  size_t bytes;
} toy_tensor;

typedef struct toy_model toy_model;
typedef struct toy_results toy_results;

const char* toy_version(void);
/* A text that begins with "unsupported" names a missing operator. */
const char* toy_load(const char* file, toy_model** out);
void toy_free(toy_model*);
size_t toy_count(const toy_model*, int outputs);
/* The name of an input or output, its tensor without data, and the names of its open extents ("" if it has no name). */
const char* toy_describe(const toy_model*, int outputs, size_t index, toy_tensor* out, const char** symbols);
/* Runs once; the results belong to the caller. Several threads may run one model. */
const char* toy_run(const toy_model*, const toy_tensor* inputs, toy_results** out);
void toy_result(const toy_results*, size_t index, toy_tensor* out);
void toy_free_results(toy_results*);

#ifdef __cplusplus
}
#endif
#endif
