// RUN: gantry-opt %s --gantry-order-commands -split-input-file | FileCheck %s

// Two devices that do not need each other, one after the other in the graph: in the plan they are
// side by side. What one queue does keeps its order. A launch of 10^9 operations takes a second here.
// CHECK-LABEL: plan.func @replicas
// CHECK: plan.launch {{.*}} on @d1 "a1"
// CHECK-NEXT: plan.launch {{.*}} on @d2 "b1"
// CHECK-NEXT: plan.launch {{.*}} on @d2 "b2"
// CHECK-NEXT: plan.launch {{.*}} on @d1 "a2"
// CHECK-NEXT: plan.copy {{.*}} on @d2 queue 3
// CHECK-NEXT: plan.launch {{.*}} on @d2 "sum"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 flops 1.0e+9
plan.device @d2 "/job:localhost/replica:0/task:0/device:GPU:1" on "sim" physical 2 flops 1.0e+9
plan.func @replicas inputs [] outputs [] {
  %a = plan.buffer size 64 on @d1 "a" : tensor<16xf32>
  plan.launch @k() -> (%a) items 1 grain 1 flops 2000000000 on @d1 "a1" [] at ""
  plan.launch @k(%a) -> (%a) items 1 grain 1 flops 2000000000 on @d1 "a2" [] at ""
  %c = plan.buffer size 64 on @d2 "c" : tensor<16xf32>
  plan.copy %a to %c on @d2 queue 3 "a" at ""
  %b = plan.buffer size 64 on @d2 "b" : tensor<16xf32>
  plan.launch @k() -> (%b) items 1 grain 1 flops 1000000000 on @d2 "b1" [] at ""
  plan.launch @k(%b) -> (%b) items 1 grain 1 flops 1000000000 on @d2 "b2" [] at ""
  plan.launch @k(%b, %c) -> (%b) items 1 grain 1 flops 1000000000 on @d2 "sum" [] at ""
}

// -----

// One queue stays as it is, and so does what stands on the other side of a branch.
// CHECK-LABEL: plan.func @one
// CHECK: "slow"
// CHECK: "fast"
// CHECK: plan.if
// CHECK: "inside1"
// CHECK: "inside2"
// CHECK: }
// CHECK: plan.launch {{.*}} on @d1 "early"
// CHECK: plan.launch {{.*}} on @d0 "late"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1
plan.func @one inputs [] outputs [] {
  %c = plan.input 0 size 1
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  plan.launch @k() -> (%a) items 1 grain 1 flops 2000000000 on @d0 "slow" [] at ""
  plan.launch @k() -> (%a) items 1 grain 1 on @d0 "fast" [] at ""
  plan.if %c {
    plan.launch @k() -> (%a) items 1 grain 1 flops 2000000000 on @d0 "inside1" [] at ""
    plan.launch @k() -> (%a) items 1 grain 1 on @d0 "inside2" [] at ""
  } else {
  }
  plan.launch @k() -> (%a) items 1 grain 1 flops 2000000000 on @d0 "first" [] at ""
  plan.launch @k(%a) -> (%a) items 1 grain 1 flops 2000000000 on @d0 "late" [] at ""
  plan.launch @k() -> (%b) items 1 grain 1 flops 2000000000 on @d1 "early" [] at ""
}
