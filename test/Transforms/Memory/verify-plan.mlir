// RUN: gantry-opt %s --gantry-verify-plan -split-input-file -verify-diagnostics

// What Memory gives.
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.arena @transient_d0 transient on @d0 size 128 lower_bound 128
plan.func @planned inputs [] outputs [] {
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 64 "a" : tensor<16xf32>
}

// -----

// A buffer without a place.
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @forgotten inputs [] outputs [] {
  // expected-error @below {{'plan.buffer' op has no place in an arena after Memory}}
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
}

// -----

// A place in an arena that is not there.
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @nowhere inputs [] outputs [] {
  // expected-error @below {{'plan.buffer' op has no place in an arena after Memory}}
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
}

// -----

// A place that reaches beyond the arena.
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.arena @transient_d0 transient on @d0 size 128 lower_bound 128
plan.func @outside inputs [] outputs [] {
  // expected-error @below {{'plan.buffer' op lies at 64 outside its arena of 128 bytes}}
  %a = plan.buffer size 65 on @d0 in @transient_d0 at 64 "a" : tensor<65xi8>
}

// -----

// A place that kernels could not load vectors from.
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.arena @transient_d0 transient on @d0 size 128 lower_bound 128
plan.func @unaligned inputs [] outputs [] {
  // expected-error @below {{'plan.buffer' op lies at 32, which is no multiple of 64 bytes}}
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 32 "a" : tensor<16xf32>
}
