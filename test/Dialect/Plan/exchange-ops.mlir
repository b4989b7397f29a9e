// What goes between tasks, printed as it was read.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK: plan.exchange @x0 message of [@d0, @d1] sizes [64] for "fc1" "x"
plan.exchange @x0 message of [@d0, @d1] sizes [64] for "fc1" "x"
// CHECK: plan.exchange @x1 all_gather of [@d0, @d1] sizes [64, 0] "g"
plan.exchange @x1 all_gather of [@d0, @d1] sizes [64, 0] "g"
// CHECK: plan.exchange @x2 all_to_all of [@d0, @d1] sizes [64, 0] rows [2, 1] "g"
plan.exchange @x2 all_to_all of [@d0, @d1] sizes [64, 0] rows [2, 1] "g"
// CHECK: plan.exchange @x3 broadcast of [@d0, @d1] sizes [64] "w"
plan.exchange @x3 broadcast of [@d0, @d1] sizes [64] "w"

// CHECK-LABEL: plan.func @main
plan.func @main inputs [] outputs [] {
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  %c = plan.buffer size 1 on @d0 "c" : tensor<i1>
  %d = plan.buffer size 1 on @d1 "d" : tensor<i1>
  // CHECK: plan.part 0 of @x0 from %{{.*}} on @d0 queue 4 "x" at "model.onnx"
  // CHECK-NEXT: plan.part 1 of @x0 to %{{.*}} on @d1 queue 5 "x" at "model.onnx"
  plan.part 0 of @x0 from %a on @d0 queue 4 "x" at "model.onnx"
  plan.part 1 of @x0 to %b on @d1 queue 5 "x" at "model.onnx"
  // CHECK-NEXT: plan.part 0 of @x1 from %{{.*}} to %{{.*}} on @d0 queue 6 "g" at ""
  plan.part 0 of @x1 from %a to %b on @d0 queue 6 "g" at ""
  // CHECK-NEXT: plan.conditions %{{.*}}
  // CHECK-NEXT: plan.if
  plan.conditions %d
  plan.if %c {
  } else {
  }
}
