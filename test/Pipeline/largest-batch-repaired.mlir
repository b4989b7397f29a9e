// With a repair over the limit the largest batch is the one that can be made to fit: values of the way forth are computed again.
// RUN: gantry compile %s --devices=CPU:0@96KiB --largest-batch=n -o %t.gantry 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: remark: the largest 'n' that fits is {{2[0-9][0-9]}}; with {{.*}}: the plan needs
// RUN: gantry compile %s --devices=CPU:0@96KiB --largest-batch=n --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK: remark: the largest 'n' that fits is {{3[0-9][0-9]}}; with {{.*}}: the plan needs
// CHECK: remark: over the limit: CPU:0: {{.*}} ops run again, {{.*}} products among them
func.func @main(%x: tensor<?x16xf32> {gantry.name = "x", gantry.dims = ["n", ""]}, %w: tensor<16x16xf32> {gantry.name = "w"}) -> (tensor<16x16xf32> {gantry.name = "g"}) {
  %s = gantry.constant dense<1.0> : tensor<f32>
  %0:2 = gantry.gradient (%w, %s) seeds 1 : (tensor<16x16xf32>, tensor<f32>) -> (tensor<f32>, tensor<16x16xf32>) {
  ^bb0(%v: tensor<16x16xf32>):
    %p0 = gantry.matmul %x, %v : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %t0 = gantry.tanh %p0 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %p1 = gantry.matmul %t0, %v : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %t1 = gantry.tanh %p1 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %p2 = gantry.matmul %t1, %v : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %t2 = gantry.tanh %p2 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %p3 = gantry.matmul %t2, %v : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %t3 = gantry.tanh %p3 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %p4 = gantry.matmul %t3, %v : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %t4 = gantry.tanh %p4 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %l = gantry.reduce_sum %t4 {axes = array<i64: 0, 1>} : (tensor<?x16xf32>) -> tensor<f32>
    gantry.yield %l : tensor<f32>
  }
  return %0#1 : tensor<16x16xf32>
}
