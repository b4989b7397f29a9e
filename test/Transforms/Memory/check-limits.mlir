// RUN: gantry-opt %s -o /dev/null --gantry-check-limits -split-input-file -verify-diagnostics

// Just within the limit; a device without one is not judged.
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" limit 192
plan.arena @transient_d0 transient on @d0 size 1000000 lower_bound 64
plan.arena @constants_d1 constants on @d1 size 64 lower_bound 64
plan.arena @transient_d1 transient on @d1 size 128 lower_bound 64

// -----

// All parts count; the fullest moment is named, and what is live there, largest first.
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" limit 4096
plan.arena @constants_d1 constants on @d1 size 1024 lower_bound 1024
plan.arena @variables_d1 variables on @d1 size 64 lower_bound 64
plan.arena @transient_d1 transient on @d1 size 3072 lower_bound 3072
// expected-note @+1 {{1 KiB: constant 'w'}}
plan.constant @c0 "w" on @d1 offset 0 size 1024 : tensor<256xf32>
plan.func @main inputs [#plan.binding<"x" : tensor<16xf32> on @d1>] outputs [] {
  %x = plan.input 0 size 64
  // expected-note @+1 {{2 KiB: 'big'}}
  %a = plan.buffer size 2048 on @d1 in @transient_d1 at 0 "big" : tensor<512xf32>
  // expected-note @+1 {{1 KiB: 'other'}}
  %b = plan.buffer size 1024 on @d1 in @transient_d1 at 2048 "other" : tensor<256xf32>
  %c = plan.buffer size 64 on @d1 in @transient_d1 at 0 "later" : tensor<16xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d1 "first" [] at ""
  // expected-error @+1 {{the plan needs 4.12 KiB on '/job:localhost/replica:0/task:0/device:GPU:0', the limit is 4 KiB: constants 1 KiB, variables 64 bytes, inputs and outputs 64 bytes, transient 3 KiB (most while 'second' runs in 'main'); raise the limit to at least 4224 bytes, put less on this device, make the batch smaller (--largest-batch=DIM finds the largest that fits), or have a plan made that fits but may take longer (--over-limit=fix)}}
  plan.launch @k(%a) -> (%b) items 1 grain 1 on @d1 "second" [] at ""
  plan.launch @k(%b) -> (%c) items 1 grain 1 on @d1 "third" [] at ""
}
