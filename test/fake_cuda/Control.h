/* What tests ask of the fake libcuda besides CUDA's own functions; found by dlsym.
 *
 * The same can be set in the environment when the library is opened: FAKE_CUDA_DEVICES, _MEMORY,
 * _ARCH, _SEED, _SKIP (1: kernels do not run), _ORDER (1: all accesses are checked; 2: and a race
 * is a failure of the launch), _PEERS (0: none), _VMM (0: none), _FAIL (N:ERROR), _REPORT (a file
 * that gets the report when the process ends). */
#ifndef FAKE_CUDA_CONTROL_H
#define FAKE_CUDA_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_cuda_options_t {
  int devices;
  uint64_t memory;    /* of each device, bytes */
  int arch;           /* 90 */
  uint64_t seed;      /* 0: work runs in the order in which it came; else any legal order */
  int checks_order;   /* accesses to the same bytes must be ordered; 2: or the launch fails */
  int checks_kernels; /* 0: not at all, 1: bounds, 2: races as well */
  int has_peers;      /* devices can access each other */
  int has_vmm;
  int skips_kernels; /* launches do nothing: calls are counted of what takes too long to interpret
                      */
  int suggests_one;  /* cuBLASLt knows one algorithm for each product, of large tiles */
  int unpin_milliseconds; /* what giving pinned memory back takes */
  int version;            /* what the driver is for, as CUDA writes it; 0: 13000 */
} fake_cuda_options_t;

/** Everything as new, with those options; nothing may be in use. */
typedef void (*fake_cuda_reset_fn)(const fake_cuda_options_t *options);
/** The n-th call from now on, counted from 1, fails with that CUresult; 0: none. */
typedef void (*fake_cuda_fail_fn)(uint64_t call, int result);
/** The n-th call of a function from now on fails with that CUresult, or each where n is 0; until
 * reset or the next fail. */
typedef void (*fake_cuda_fail_in_fn)(const char *function, uint64_t call, int result);
/** Calls since reset or the last fail; of one function, or of all where it is null. */
typedef uint64_t (*fake_cuda_calls_fn)(const char *function);
/** Whether the failure that was asked for has happened, and in which function; null: not. */
typedef const char *(*fake_cuda_failed_fn)(void);
/** What was done wrong, a line each: races, pageable memory, rules of capture. Empty: nothing. */
typedef const char *(*fake_cuda_faults_fn)(void);
/** For faults that were meant. */
typedef void (*fake_cuda_forget_faults_fn)(void);
/** What was made and is still there, "2 streams, 1 context"; empty: nothing. */
typedef const char *(*fake_cuda_leaks_fn)(void);
/** Whether a context of the device is there. */
typedef int (*fake_cuda_has_context_fn)(int device);
/** Bytes of the device's memory that are taken. */
typedef uint64_t (*fake_cuda_bytes_fn)(int device);

/** The tile of the algorithm of the last product that cuBLASLt was given, "128x256". */
typedef const char *(*fake_cublaslt_tile_fn)(void);

/** The one symbol: `const fake_cuda_control_t fake_cuda_control`. */
typedef struct fake_cuda_control_t {
  fake_cuda_reset_fn reset;
  fake_cuda_fail_fn fail;
  fake_cuda_calls_fn calls;
  fake_cuda_failed_fn failed;
  fake_cuda_faults_fn faults;
  fake_cuda_leaks_fn leaks;
  fake_cuda_has_context_fn has_context;
  fake_cuda_bytes_fn bytes;
  fake_cuda_fail_in_fn fail_in;
  fake_cuda_forget_faults_fn forget_faults;
  fake_cublaslt_tile_fn tile;
} fake_cuda_control_t;

#ifdef __cplusplus
}
#endif

#endif
