// Small values that go the same way at the same time are one transfer (spec X5): the plan file says
// so, its text says the same when it is read back, and log and counters name every value.

// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s
// RUN: gantry plan-text %t.gantry | gantry-opt | FileCheck %s
// CHECK: %[[A:.*]] = plan.input 0 size 24
// CHECK: %[[B:.*]] = plan.input 1 size 24
// CHECK: plan.copy %[[A]], %[[B]] to %{{.*}}, %{{.*}} on @d1 queue 1 for "MatMul 'product' at transfers.mlir:[[#@LINE+19]]:8" "a" at "transfers.mlir:[[#@LINE+19]]:8"
// CHECK-SAME: also [#plan.copied<"b" at "transfers.mlir:{{[0-9:]*}}" for "MatMul 'product' at transfers.mlir:{{[0-9:]*}}">]
// CHECK-NOT: plan.copy {{.*}} queue 1

// RUN: gantry run %t.gantry --fill ramp --log-device-placement -v 2>&1 | FileCheck %s --check-prefix=LOG
// LOG: Copying 24 bytes from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0
// LOG-NEXT: Copying 24 bytes from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0
// LOG: 3 copies per run in 2 transfers, 64 bytes (h2d 2, d2h 1); 0 at load
// LOG: copies counted as planned: 3 per run in 2 transfers, 64 bytes (h2d 2, d2h 1)

// RUN: env COLUMNS=140 gantry explain %t.gantry --all | FileCheck %s --check-prefix=WHY
// WHY: every run {{ *}}h2d{{ *}}CPU:0{{ *}}GPU:0{{ *}}24{{ *}}10 µs  MatMul 'product' {{.*}} a
// WHY-NEXT: same transfer {{ *}}h2d{{ *}}CPU:0{{ *}}GPU:0{{ *}}24{{ *}}0.96 ns  MatMul 'product' {{.*}} b

// RUN: gantry explain %t.gantry --json | FileCheck %s --check-prefix=JSON
// JSON-COUNT-1: "joined":true
// JSON-NOT: "joined"

func.func @main(%a: tensor<2x3xf32> {gantry.name = "a"}, %b: tensor<3x2xf32> {gantry.name = "b"}) -> tensor<2x2xf32> {
  %c = gantry.matmul %a, %b {gantry.name = "product"} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %c : tensor<2x2xf32>
}
