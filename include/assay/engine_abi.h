/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface between assay and an engine plug-in (one inference runtime), in C11.
 *
 * Three objects: engine (a loaded runtime) -> program (a loaded model, immutable) -> context (bound shapes, buffers
 * and state; one request in flight: N streams are N contexts).
 *
 * Manners
 *   Growth    Tables and structs only grow at their end. `struct_size` comes first in every struct that may grow and
 *             says which fields the writer knew; a missing or NULL slot means "not implemented". Arrays of structs
 *             cross as arrays of pointers, so that a struct that grows does not change a stride.
 *   Errors    NULL is success. An error belongs to the plug-in that made it; the host frees it with `error_free`.
 *   Strings   UTF-8, not necessarily NUL-terminated, length given. Unless said otherwise they live until the object
 *             that gave them is freed, or until the called function returns for arguments.
 *   Threads   One thread at a time per object; different objects may be used in parallel.
 *   Unwinding Nothing is thrown across this boundary.
 *   C++       Authors derive from the classes of engine_plugin.hpp, which writes all of this for them.
 */
#ifndef ASSAY_ENGINE_ABI_H
#define ASSAY_ENGINE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_MAJOR 1
#define ASSAY_ABI_MINOR 0

/* The one symbol a plug-in exports has this name and type assay_engine_get_fn. */
#define ASSAY_ENGINE_ENTRY "assay_engine_get"

#if defined(__GNUC__)
#define ASSAY_EXPORT __attribute__((visibility("default")))
#else
#define ASSAY_EXPORT
#endif

typedef struct assay_string {
  const char* data;
  size_t size;
} assay_string;

typedef struct assay_error assay_error;     /* opaque, made by the plug-in */
typedef struct assay_engine assay_engine;   /* opaque */
typedef struct assay_program assay_program; /* opaque */
typedef struct assay_context assay_context; /* opaque */

/* Same order and meaning as assay::ErrorCode. */
enum {
  ASSAY_INVALID_ARGUMENT = 0,
  ASSAY_NOT_FOUND = 1,
  ASSAY_UNSUPPORTED = 2,
  ASSAY_MISMATCH = 3,
  ASSAY_TIMEOUT = 4,
  ASSAY_OUT_OF_MEMORY = 5,
  ASSAY_DEVICE_LOST = 6,
  ASSAY_WORKER_DIED = 7,
  ASSAY_INCOMPATIBLE_PLUGIN = 8,
  ASSAY_STORE_BUSY = 9,
  ASSAY_CANCELLED = 10,
  ASSAY_INTERNAL = 11
};

/* Element types, numbered as ONNX's TensorProto.DataType (1 float32, 7 int64, 10 float16, 16 bfloat16, …). */
typedef int32_t assay_dtype;

enum { ASSAY_MEMORY_HOST = 0, ASSAY_MEMORY_DEVICE = 1 };

/* A view of a packed, C-order tensor. `data` is not owned. */
typedef struct assay_tensor {
  uint32_t struct_size;
  assay_dtype dtype;
  int32_t memory_kind; /* ASSAY_MEMORY_… */
  int32_t device_id;   /* meaningful for device memory */
  const int64_t* dims; /* `rank` extents, all known */
  size_t rank;
  void* data;
  uint64_t byte_size;
  void* owner; /* for the maker's use; the receiver passes it back untouched */
} assay_tensor;

/* One input or output of a program. */
typedef struct assay_value_info {
  uint32_t struct_size;
  assay_dtype dtype;
  assay_string name;
  const int64_t* dims;         /* -1 where unknown until bound */
  const assay_string* symbols; /* `rank` names of unknown extents, empty where fixed or nameless; may be NULL */
  size_t rank;                 /* SIZE_MAX when even the rank is unknown */
} assay_value_info;

enum {
  ASSAY_DEVICE_SIMULATED = 1, /* a functional simulator: its time is not the device's */
  ASSAY_DEVICE_SOFTWARE = 2   /* a GPU emulated on the CPU: likewise */
};

typedef struct assay_device {
  uint32_t struct_size;
  uint32_t flags;        /* ASSAY_DEVICE_… */
  assay_string id;       /* what load() takes: "cpu", "GPU.0", a PCI address */
  assay_string hardware; /* assay's hardware word: "cpu", "cuda", "openvino", … */
  assay_string name;     /* as the vendor calls it */
  uint64_t memory_bytes; /* 0 when unknown */
  int32_t score;         /* higher is preferred */
} assay_device;

typedef struct assay_key_value {
  uint32_t struct_size;
  assay_string key;
  assay_string value;
} assay_key_value;

/* What an engine says about one of its options, for `assay engines`. */
typedef struct assay_option_info {
  uint32_t struct_size;
  assay_string name;
  assay_string type; /* "int", "bool", "string", "float" or "a|b|c" */
  assay_string default_value;
  assay_string help; /* one line */
} assay_option_info;

/* Receivers of lists: called once per element, which lives only during the call. `user` comes back untouched. */
typedef struct assay_device_sink {
  uint32_t struct_size;
  void* user;
  void (*add)(void* user, const assay_device*);
} assay_device_sink;
typedef struct assay_value_sink {
  uint32_t struct_size;
  void* user;
  void (*add)(void* user, const assay_value_info*);
} assay_value_sink;
typedef struct assay_key_value_sink {
  uint32_t struct_size;
  void* user;
  void (*add)(void* user, const assay_key_value*);
} assay_key_value_sink;
typedef struct assay_option_sink {
  uint32_t struct_size;
  void* user;
  void (*add)(void* user, const assay_option_info*);
} assay_option_sink;

/* What the host offers to plug-ins. Lives as long as the process. */
typedef struct assay_host_api {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor;
  /* ---- band 1.0 ---- */
  int64_t (*now_ns)(void);                          /* the clock of all samples: steady, nanoseconds */
  void (*log)(int32_t level, assay_string message); /* 0 debug, 1 info, 2 warning, 3 error; goes to the attempt's log */
} assay_host_api;

typedef struct assay_engine_config {
  uint32_t struct_size;
  assay_string home; /* the folder where the runtime was found; empty: let the system's loader look */
} assay_engine_config;

typedef struct assay_load_args {
  uint32_t struct_size;
  assay_string model_path;
  assay_string device_id; /* empty: the engine's best */
  assay_string precision; /* "as_is", "float32", "float16", "bfloat16" (strictly) or "runtime" (its choice) */
  int32_t threads;        /* of one inference; 0: the runtime's choice */
  int32_t streams;        /* how many contexts will run at once */
  const assay_key_value* const* options;
  size_t option_count;
} assay_load_args;

/* Kinds of a sample. */
enum { ASSAY_SAMPLE_RUN = 0, ASSAY_SAMPLE_FIRST_TOKEN = 1, ASSAY_SAMPLE_TOKEN = 2 };

/* Where a burst's samples go: columns with room for `capacity`; the plug-in sets `count`. NULL columns are not wanted.
 */
typedef struct assay_samples {
  uint32_t struct_size;
  uint32_t stream; /* which stream this burst belongs to, for columns of others: written by the host */
  size_t capacity;
  size_t count;
  int64_t* start_ns; /* host clock; INT64_MIN where unknown */
  int64_t* duration_ns;
  uint8_t* kind; /* ASSAY_SAMPLE_… */
} assay_samples;

typedef struct assay_engine_table {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor; /* what the plug-in was built against */
  /* ---- band 1.0 ---- */
  assay_string name; /* as its engine.json says; process lifetime */

  int32_t (*error_code)(const assay_error*);
  assay_string (*error_message)(const assay_error*);
  void (*error_free)(assay_error*); /* NULL is allowed */

  /* Opens the runtime's libraries. The call's duration is runtime_load_ms. */
  assay_error* (*engine_create)(const assay_engine_config*, assay_engine** out);
  void (*engine_free)(assay_engine*);
  assay_string (*engine_version)(assay_engine*); /* the runtime's own version */
  assay_error* (*engine_devices)(assay_engine*, const assay_device_sink*);
  assay_error* (*engine_options)(assay_engine*, const assay_option_sink*);

  /* Parses and prepares a model. The call's duration is model_load_time. */
  assay_error* (*program_load)(assay_engine*, const assay_load_args*, assay_program** out);
  void (*program_free)(assay_program*);
  assay_error* (*program_inputs)(assay_program*, const assay_value_sink*);
  assay_error* (*program_outputs)(assay_program*, const assay_value_sink*);
  /* What the runtime really does, read back: "precision", "threads", "device", every option in force. After
     context_create: for the shapes of the latest context, where the runtime decides by shape or model. */
  assay_error* (*program_effective)(assay_program*, const assay_key_value_sink*);

  /* Makes a context for these input shapes (only dtype and dims are looked at, in program_inputs' order). An extent
     that the program leaves open may stay open here as well (-1): it is then settled by each set_input and may differ
     from set to set and from run to run, as a generation's past does. Fixed extents are what a runtime optimises for.
     The call's duration is compilation_time_ms where the runtime separates it (compiles_shapes != 0). */
  assay_error* (*context_create)(assay_program*, const assay_tensor* const* shapes, size_t count, assay_context** out);
  void (*context_free)(assay_context*);

  /* Binds a caller's buffer as input `index` of input set `set`. Sets are numbered from 0 without gaps; a buffer stays
     valid and unmoved until the context is freed or another one is bound in its place, its contents may change between
     runs. An empty tensor's `data` may be NULL. */
  assay_error* (*set_input)(assay_context*, size_t set, size_t index, const assay_tensor*);

  /* Runs once on input set `set`; returns when all outputs are readable in bound host buffers. The timed call. */
  assay_error* (*run)(assay_context*, size_t set);

  /* Output `index` of the latest run, in host memory; valid until the next run or free. */
  assay_error* (*get_output)(assay_context*, size_t index, assay_tensor* out);

  /* Optional slots from here on: NULL means the engine cannot. */

  /* n runs in the rotation set = (first_set + i) % sets, each timed where the truth is. NULL: the host loops around
     run with its own clock. Samples that were completed before an error are in `samples`. */
  assay_error* (*run_timed)(assay_context*, size_t n, size_t first_set, size_t sets, assay_samples*);

  /* From now on output `output` of each run is input `input` of the next one, whatever their sets, without leaving the
     device or being copied by the plug-in: a cache. The first run of this context, and the first after reset_state,
     takes what set_input bound in its set; later runs need nothing bound there. The element types are equal; the
     output's extents fit the input's bound ones, and where they grow those are open (-1 in context_create). get_output
     shows aliased outputs like others. An input has one alias, the latest; each call implies reset_state. A run that
     fails leaves the state as it was before it. Errors: mismatch, for types or shapes that can never fit. */
  assay_error* (*alias_output_to_input)(assay_context*, size_t output, size_t input);
  /* Forgets what earlier runs left: the next run begins anew with the bound inputs. */
  assay_error* (*reset_state)(assay_context*);

  /* A small versioned table by name ("profile", "memory", "save", "energy"), or NULL. Process lifetime. */
  const void* (*get_extension)(assay_string name);

  uint32_t compiles_shapes;     /* 1: context_create compiles, its duration is compilation_time_ms */
  uint32_t concurrent_contexts; /* 1: several contexts of a program may run at the same time */

  /* What the user can do about an error; empty when unknown. NULL: this plug-in gives no hints. */
  assay_string (*error_hint)(const assay_error*);

  /* Does what context_create needs for these shapes and what is no compilation, such as reading a model again that was
     given up to save memory. Called before it, outside of any measured time; context_create works without. NULL:
     nothing. */
  assay_error* (*context_prepare)(assay_program*, const assay_tensor* const* shapes, size_t count);

  /* Makes input `input` and output `output` one memory that the engine keeps where it computes, the same for all sets:
     each run reads a state there and writes the next one over it. For graphs that are made for it, which read nothing
     of that input once a part of that output is written. The element types are equal, and so are the extents, all
     known in context_create. Zeros at first and after reset_state, which each call implies; nothing is bound there.
     get_output shows it as any output. An input is shared or aliased, as told last. A run that fails leaves it
     unknown. Errors: mismatch, for types or extents that are not equal; unsupported, where the runtime cannot. NULL:
     the engine cannot. */
  assay_error* (*share_output_with_input)(assay_context*, size_t output, size_t input);
} assay_engine_table;

typedef const assay_engine_table* (*assay_engine_get_fn)(const assay_host_api*);

#ifdef __cplusplus
}
#endif
#endif
