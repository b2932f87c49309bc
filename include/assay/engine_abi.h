/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface between assay and an engine plug-in (one inference runtime), in C11.
 *
 * Three objects: engine (a loaded runtime) -> program (a loaded model, immutable) -> context (bound shapes, buffers
 * and state; one request in flight: N streams are N contexts).
 *
 * Rules
 *   Growth    Tables and structs only grow at their end. `struct_size` comes first in every struct that may grow and
 *             states which fields the writer knew; a missing or NULL slot means "not implemented". Arrays of structs
 *             are passed as arrays of pointers, so that a larger struct does not change a stride.
 *   Errors    NULL is success. An error belongs to the plug-in that created it; the host frees it with `error_free`.
 *   Strings   UTF-8, with length, not necessarily NUL-terminated. Unless stated otherwise they are valid until their
 *             object is freed; arguments are valid until the called function returns.
 *   Threads   One thread at a time per object; different objects may be used in parallel.
 *   Unwinding No exception crosses this boundary.
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

typedef struct assay_error assay_error;     /* opaque, created by the plug-in */
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
  void* owner; /* for the creator's use; the receiver passes it back unchanged */
} assay_tensor;

/* One input or output of a program. */
typedef struct assay_value_info {
  uint32_t struct_size;
  assay_dtype dtype;
  assay_string name;
  const int64_t* dims;         /* -1 where unknown until bound */
  const assay_string* symbols; /* `rank` names of unknown extents, empty if fixed or without a name; may be NULL */
  size_t rank;                 /* SIZE_MAX if even the rank is unknown */
  int64_t index_limit;         /* of integers that select rows of a table: its rows; 0 if unknown */
} assay_value_info;

enum {
  ASSAY_DEVICE_SIMULATED = 1, /* a functional simulator: its time is not the device's */
  ASSAY_DEVICE_SOFTWARE = 2   /* a GPU emulated on the CPU: its time is not the device's either */
};

typedef struct assay_device {
  uint32_t struct_size;
  uint32_t flags;        /* ASSAY_DEVICE_… */
  assay_string id;       /* for load(): "cpu", "GPU.0", a PCI address */
  assay_string hardware; /* assay's name of the hardware: "cpu", "cuda", "openvino", … */
  assay_string name;     /* as the vendor calls it */
  uint64_t memory_bytes; /* 0 if unknown */
  int32_t score;         /* higher is preferred */
} assay_device;

typedef struct assay_key_value {
  uint32_t struct_size;
  assay_string key;
  assay_string value;
} assay_key_value;

/* The description of an option, for `assay engines`. */
typedef struct assay_option_info {
  uint32_t struct_size;
  assay_string name;
  assay_string type; /* "int", "bool", "string", "float" or "a|b|c" */
  assay_string default_value;
  assay_string help; /* one line */
} assay_option_info;

/* Receivers of lists: called once per element, which is valid only during the call. `user` is passed back unchanged. */
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

/* The services of the host for plug-ins. Valid until the process ends. */
typedef struct assay_host_api {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor;
  /* ---- band 1.0 ---- */
  int64_t (*now_ns)(void);                          /* the clock of all samples: steady, nanoseconds */
  void (*log)(int32_t level, assay_string message); /* 0 debug, 1 info, 2 warning, 3 error; goes to the attempt's log */
} assay_host_api;

typedef struct assay_engine_config {
  uint32_t struct_size;
  assay_string home; /* the folder where the runtime was found; empty: the system's loader searches */
} assay_engine_config;

typedef struct assay_load_args {
  uint32_t struct_size;
  assay_string model_path;
  assay_string device_id; /* empty: the engine's best */
  assay_string precision; /* "as_is", "float32", "float16", "bfloat16" (strictly) or "runtime" (its choice) */
  int32_t threads;        /* of all streams together; 0: the runtime's choice */
  int32_t streams;        /* how many contexts will run at once */
  const assay_key_value* const* options;
  size_t option_count;
} assay_load_args;

/* Kinds of a sample. */
enum { ASSAY_SAMPLE_RUN = 0, ASSAY_SAMPLE_FIRST_TOKEN = 1, ASSAY_SAMPLE_TOKEN = 2 };

/* The samples of a burst: columns of `capacity` elements; the plug-in sets `count`. NULL columns are not requested. */
typedef struct assay_samples {
  uint32_t struct_size;
  uint32_t stream; /* the stream of this burst; written by the host */
  size_t capacity;
  size_t count;
  int64_t* start_ns; /* host clock; INT64_MIN if unknown */
  int64_t* duration_ns;
  uint8_t* kind; /* ASSAY_SAMPLE_… */
} assay_samples;

typedef struct assay_engine_table {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor; /* what the plug-in was built against */
  /* ---- band 1.0 ---- */
  assay_string name; /* as in its engine.json; process lifetime */

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
  /* What the runtime really uses, read back or measured: "precision" ("unknown" if neither is possible), "threads" (of
     all streams together), "device" and all options; if known, "spin" (on, off) and "denormals" (kept, flushed). After
     context_create: for the shapes of the latest context, if the runtime decides by shape or model. Its time is not a
     part of the load. */
  assay_error* (*program_effective)(assay_program*, const assay_key_value_sink*);

  /* Creates a context for these input shapes (only dtype and dims are read, in program_inputs' order). An open extent
     of the program may stay open (-1): each set_input then defines it, and it may differ from set to set and from run
     to run, such as the past of a generation. The runtime optimises for fixed extents. The call's duration is
     compilation_time_ms if the runtime separates it (compiles_shapes != 0). */
  assay_error* (*context_create)(assay_program*, const assay_tensor* const* shapes, size_t count, assay_context** out);
  void (*context_free)(assay_context*);

  /* Binds a caller's buffer as input `index` of input set `set`. Sets are numbered from 0 without gaps. A buffer stays
     valid at the same address until the context is freed or another one replaces it; its contents may change between
     runs. An empty tensor's `data` may be NULL. */
  assay_error* (*set_input)(assay_context*, size_t set, size_t index, const assay_tensor*);

  /* Runs once on input set `set`; returns when all outputs are readable in bound host buffers. The timed call. */
  assay_error* (*run)(assay_context*, size_t set);

  /* Output `index` of the latest run, in host memory; valid until the next run or free. */
  assay_error* (*get_output)(assay_context*, size_t index, assay_tensor* out);

  /* Optional slots from here on: NULL means that the engine does not support it. */

  /* n runs in the rotation set = (first_set + i) % sets, each timed by the engine. NULL: the host times run() with
     its own clock. Samples that were completed before an error are in `samples`. */
  assay_error* (*run_timed)(assay_context*, size_t n, size_t first_set, size_t sets, assay_samples*);

  /* From now on output `output` of each run is input `input` of the next one, whatever their sets; it does not leave
     the device and the plug-in does not copy it: a cache. The first run of this context, and the first after
     reset_state, reads the buffer that set_input bound in its set; later runs need no buffer. The element types are
     equal; the output's extents match the input's bound ones, and if they grow those are open (-1 in context_create).
     get_output returns aliased outputs too. An input has one alias, the latest; each call implies reset_state. After
     a failed run the state is undefined until reset_state: an engine may write it in place. Errors: mismatch, for types
     or shapes that can never match. */
  assay_error* (*alias_output_to_input)(assay_context*, size_t output, size_t input);
  /* Discards the state of earlier runs: the next run starts with the bound inputs. */
  assay_error* (*reset_state)(assay_context*);

  /* A small versioned table by name ("profile", "memory", "save", "energy"), or NULL. Process lifetime. */
  const void* (*get_extension)(assay_string name);

  uint32_t compiles_shapes;     /* 1: context_create compiles, its duration is compilation_time_ms */
  uint32_t concurrent_contexts; /* 1: several contexts of a program may run at the same time */

  /* What the user can do about an error; empty if unknown. NULL: this plug-in has no hints. */
  assay_string (*error_hint)(const assay_error*);

  /* Does the work for context_create with these shapes that is not compilation, such as reading a model again that was
     freed to save memory. Called before it, outside of any measured time; context_create also works without it. NULL:
     there is no such work. */
  assay_error* (*context_prepare)(assay_program*, const assay_tensor* const* shapes, size_t count);

  /* Puts input `input` and output `output` in the same memory, which the engine keeps on the device, the same for all
     sets: each run reads the state and overwrites it with the next one. For graphs that are designed for it: they do
     not read that input after they have written a part of that output. The element types are equal, and so are the
     extents, all known in context_create. Zeros at first and after reset_state, which each call implies; no buffer is
     bound to it. get_output returns it like any output. An input is either shared or aliased; the latest call counts.
     After a failed run its contents are undefined. Errors: mismatch, for types or extents that are not equal;
     unsupported, if the runtime does not support it. NULL: the engine does not support it. */
  assay_error* (*share_output_with_input)(assay_context*, size_t output, size_t input);
} assay_engine_table;

/* The extension "save": writes a loaded program as a file of the runtime's own format, with which programs of the
   runtime's developers continue. */
typedef struct assay_save_args {
  uint32_t struct_size;
  assay_string path;
  int32_t frozen; /* 1: with the weights as constants of the code; 0: as they were loaded */
} assay_save_args;
typedef struct assay_save_extension {
  uint32_t struct_size;
  uint32_t version; /* 1 */
  assay_error* (*save)(assay_program*, const assay_save_args*);
} assay_save_extension;

/* The extension "notes": what the engine found, or did not find, for hardware of which devices() lists none. One
   sentence for each: the key is assay's name of the hardware, the value is the sentence. */
typedef struct assay_notes_extension {
  uint32_t struct_size;
  uint32_t version; /* 1 */
  assay_error* (*notes)(assay_engine*, const assay_key_value_sink*);
} assay_notes_extension;

typedef const assay_engine_table* (*assay_engine_get_fn)(const assay_host_api*);

#ifdef __cplusplus
}
#endif
#endif
