// RUN: gantry-opt %s --gantry-coalesce-copies -split-input-file | FileCheck %s

// The link from the host has a latency of 1 s and moves 64 bytes in a second.

// Two inputs that are there from the beginning go together, each with its own names. The third one
// would make the transfer hold more than the link moves in a latency, and goes with the fourth.
// CHECK-LABEL: plan.func @inputs
// CHECK-DAG: %[[A:.*]] = plan.input 0
// CHECK-DAG: %[[B:.*]] = plan.input 1
// CHECK-DAG: %[[A1:.*]] = plan.buffer size 32 on @d1 "a"
// CHECK-DAG: %[[B1:.*]] = plan.buffer size 16 on @d1 "b"
// CHECK: plan.copy %[[A]], %[[B]] to %[[A1]], %[[B1]] on @d1 queue 1 for "one" "a" at "g:1"
// CHECK-SAME: also [#plan.copied<"b" at "g:2" for "two">]
// CHECK-NEXT: plan.copy %{{.*}}, %{{.*}} to %{{.*}}, %{{.*}} on @d1 queue 1 for "three" "c" at "g:3"
// CHECK-SAME: also [#plan.copied<"d" at "">]
// CHECK-NEXT: plan.launch
// CHECK-NOT: plan.copy
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 flops 1.0e+9
plan.link @d0 to @d1 bandwidth 64.0 latency 1.0
plan.func @inputs inputs [#plan.binding<"x" : tensor<4xf32> on @d0>, #plan.binding<"x" : tensor<4xf32> on @d0>] outputs [] {
  %a = plan.input 0 size 32
  %b = plan.input 1 size 16
  %a1 = plan.buffer size 32 on @d1 "a" : tensor<8xf32>
  plan.copy %a to %a1 on @d1 queue 1 for "one" "a" at "g:1"
  %b1 = plan.buffer size 16 on @d1 "b" : tensor<4xf32>
  plan.copy %b to %b1 on @d1 queue 1 for "two" "b" at "g:2"
  %c1 = plan.buffer size 32 on @d1 "c" : tensor<8xf32>
  plan.copy %a to %c1 on @d1 queue 1 for "three" "c" at "g:3"
  %d1 = plan.buffer size 16 on @d1 "d" : tensor<4xf32>
  plan.copy %b to %d1 on @d1 queue 1 "d" at ""
  plan.launch @k(%a1, %b1, %c1, %d1) -> (%a1) items 1 grain 1 on @d1 "sum" [] at ""
}

// -----

// A value that is made while the first one is on its way is not waited for; nor does the order of
// what is copied and then written change.
// CHECK-LABEL: plan.func @made
// CHECK: plan.launch {{.*}} "slow"
// CHECK: plan.copy {{.*}} "a" at ""{{$}}
// CHECK: plan.copy {{.*}} "b" at ""{{$}}
// CHECK-LABEL: plan.func @written
// CHECK: plan.copy {{.*}} "a" at ""{{$}}
// CHECK: plan.launch {{.*}} "fast"
// CHECK: plan.copy {{.*}} "b" at ""{{$}}
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host" flops 1.0e+9
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 flops 1.0e+9
plan.link @d0 to @d1 bandwidth 64.0 latency 1.0
plan.func @made inputs [#plan.binding<"x" : tensor<4xf32> on @d0>] outputs [] {
  %a = plan.input 0 size 16
  %b = plan.buffer size 16 on @d0 "b" : tensor<4xf32>
  %a1 = plan.buffer size 16 on @d1 "a" : tensor<4xf32>
  %b1 = plan.buffer size 16 on @d1 "b" : tensor<4xf32>
  plan.launch @k() -> (%b) items 1 grain 1 flops 500000000 on @d0 "slow" [] at ""
  plan.copy %a to %a1 on @d1 queue 1 "a" at ""
  plan.copy %b to %b1 on @d1 queue 1 "b" at ""
}
plan.func @written inputs [] outputs [] {
  %b = plan.buffer size 16 on @d0 "b" : tensor<4xf32>
  %a1 = plan.buffer size 16 on @d1 "a" : tensor<4xf32>
  %b1 = plan.buffer size 16 on @d1 "b" : tensor<4xf32>
  plan.copy %b to %a1 on @d1 queue 1 "a" at ""
  plan.launch @k() -> (%b) items 1 grain 1 flops 1 on @d0 "fast" [] at ""
  plan.copy %b to %b1 on @d1 queue 1 "b" at ""
}

// -----

// Values from two GPUs come over two links; a loop is a border.
// CHECK-LABEL: plan.func @links
// CHECK: plan.copy %{{[^,]*}} to %{{[^,]*}} on @d2 queue 3 "a"
// CHECK: plan.copy %{{[^,]*}} to %{{[^,]*}} on @d2 queue 3 "b"
// CHECK: plan.if
// CHECK: plan.copy %{{.*}}, %{{.*}} to %{{.*}}, %{{.*}} on @d2 queue 3 "c"
// CHECK: plan.copy %{{[^,]*}} to %{{[^,]*}} on @d2 queue 3 "e"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1
plan.device @d2 "/job:localhost/replica:0/task:0/device:GPU:1" on "sim" physical 2
plan.device @d3 "/job:localhost/replica:0/task:0/device:GPU:2" on "sim" physical 3
plan.link @d1 to @d2 bandwidth 64.0 latency 1.0
plan.link @d3 to @d2 bandwidth 64.0 latency 1.0
plan.func @links inputs [#plan.binding<"x" : tensor<4xf32> on @d1>, #plan.binding<"x" : tensor<4xf32> on @d3>, #plan.binding<"x" : tensor<4xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 16
  %y = plan.input 1 size 16
  %flag = plan.input 2 size 1
  %a = plan.buffer size 16 on @d2 "a" : tensor<4xf32>
  %b = plan.buffer size 16 on @d2 "b" : tensor<4xf32>
  %c = plan.buffer size 16 on @d2 "c" : tensor<4xf32>
  %d = plan.buffer size 16 on @d2 "d" : tensor<4xf32>
  %e = plan.buffer size 16 on @d2 "e" : tensor<4xf32>
  plan.launch @k() -> (%e) items 1 grain 1 on @d2 "other" [] at ""
  plan.copy %x to %a on @d2 queue 3 "a" at ""
  plan.copy %y to %b on @d2 queue 3 "b" at ""
  plan.if %flag {
    plan.launch @k() -> (%e) items 1 grain 1 on @d2 "other" [] at ""
    plan.copy %x to %c on @d2 queue 3 "c" at ""
    plan.copy %x to %d on @d2 queue 3 "d" at ""
  } else {
  }
  plan.copy %x to %e on @d2 queue 3 "e" at ""
}

// -----

// What comes behind a transfer starts earlier, and stands where it starts: what lives when is read off the order.
// CHECK-LABEL: plan.func @earlier
// CHECK: plan.copy %{{.*}}, %{{.*}} to
// CHECK: plan.launch {{.*}} "first"
// CHECK: plan.copy {{.*}} "c"
// CHECK: plan.launch {{.*}} "second"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 flops 1.0e+9
plan.link @d0 to @d1 bandwidth 64.0 latency 1.0
plan.func @earlier inputs [#plan.binding<"x" : tensor<16xf32> on @d0>, #plan.binding<"y" : tensor<4xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.input 1 size 16
  %a1 = plan.buffer size 16 on @d1 "a" : tensor<4xf32>
  %b1 = plan.buffer size 16 on @d1 "b" : tensor<4xf32>
  %c1 = plan.buffer size 64 on @d1 "c" : tensor<16xf32>
  %u = plan.buffer size 16 on @d1 "u" : tensor<4xf32>
  %v = plan.buffer size 16 on @d1 "v" : tensor<4xf32>
  plan.copy %y to %a1 on @d1 queue 1 "a" at ""
  plan.launch @k() -> (%u) items 1 grain 1 flops 2000000000 on @d1 "first" [] at ""
  plan.copy %y to %b1 on @d1 queue 1 "b" at ""
  plan.launch @k() -> (%v) items 1 grain 1 flops 1000000000 on @d1 "second" [] at ""
  plan.copy %x to %c1 on @d1 queue 1 "c" at ""
}
