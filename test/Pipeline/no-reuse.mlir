// --no-reuse gives each value bytes of its own; results are the same.
// RUN: gantry compile %s --stop-after=memory -o - | FileCheck %s --check-prefix=REUSE --enable-var-scope
// RUN: gantry compile %s --no-reuse --stop-after=memory -o - | FileCheck %s --enable-var-scope
// RUN: gantry run %s --fill ramp --output y=%t.1.npy
// RUN: gantry run %s --fill ramp --no-reuse --output y=%t.2.npy
// RUN: cmp %t.1.npy %t.2.npy

// REUSE: plan.arena @transient_d0 transient on @d0 size 2097152
// REUSE: %[[A:.*]] = plan.buffer {{.*}} "a"
// REUSE: plan.launch @{{.*}}(%[[A]]) -> (%[[A]]){{.*}}"b"
// CHECK: plan.arena @transient_d0 transient on @d0 size 4194304
// CHECK: %[[A:.*]] = plan.buffer {{.*}} "a"
// CHECK: %[[B:.*]] = plan.buffer {{.*}} "b"
// CHECK: plan.launch @{{.*}}(%[[A]]) -> (%[[B]]){{.*}}"b"
func.func @main(%x: tensor<512x1024xf32>) -> (tensor<512xf32> {gantry.name = "y"}) {
  %a = gantry.cumsum %x {axis = 1 : i64, gantry.name = "a"} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %b = gantry.softmax %a {axis = 1 : i64, gantry.name = "b"} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %y = gantry.reduce_max %b {axes = array<i64: 1>} : (tensor<512x1024xf32>) -> tensor<512xf32>
  return %y : tensor<512xf32>
}
